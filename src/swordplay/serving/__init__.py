"""HTTP server for models that predict rows now and learn their answers later (extra ``serve``).

``swordplay serve --state DIR`` starts it. A request is parsed (``requests``) and becomes an event.
Events are written to a log on the disk (``event_log``), many at a time (``group_commit``), and only
then applied to the models (``models``) and acknowledged, so nothing acknowledged is lost.
Checkpoints (``storage``) keep the log short.
"""
