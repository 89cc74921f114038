"""Models behind an address: predictions now, answers later, over HTTP, and nothing that was acknowledged is ever lost.

``swordplay serve --state DIR`` starts it. A request becomes an event (:mod:`.requests`), events are written to a log on the disk
(:mod:`.log`), many at a time (:mod:`.scribe`), and only then reach the models (:mod:`.models`) and are answered. Checkpoints in
between (:mod:`.keeper`) keep the log short. Needs the extra ``serve``.
"""
