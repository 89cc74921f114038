"""Models that predict a row now and learn it later, when its target arrives, or never.

>>> from swordplay.late import LateModel
>>> model = LateModel("regression")
>>> for hour in range(100):
...     ticket = model.ask({"hour": hour % 24, "sky": "clear" if hour % 3 else "grey"})
...     loss = model.tell(ticket, 2.0 * (hour % 24))
>>> ticket = model.ask({"hour": 12, "sky": "clear"})
>>> bool(ticket.lower <= ticket.prediction <= ticket.upper), len(model.pending)
(True, 1)
"""

from swordplay.late.model import LateModel
from swordplay.late.tickets import (
    Ticket,
    TicketError,
    TicketPending,
    TooManyPending,
    UnknownTicket,
)

__all__ = ["LateModel", "Ticket", "TicketError", "TicketPending", "TooManyPending", "UnknownTicket"]
