"""Models behind an address: predictions now, answers later, over HTTP, and nothing that was
acknowledged is ever lost.

``swordplay serve --state DIR`` starts it. A request becomes an event (``requests``), events are
written to a log on the disk (``log``), many at a time (``scribe``), and only then reach the models
(``models``) and are answered. Checkpoints in between (``keeper``) keep the log short. Needs the
extra ``serve``.
"""
