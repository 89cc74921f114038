"""All models of a server: what each event does to them, and the response to it.

The same events in the same order lead to the same models and the same responses, bit for bit:
nothing here reads a clock, draws a random number, or depends on anything but the events.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from swordplay.core.arguments import short_repr
from swordplay.core.checkpoint import CheckpointError
from swordplay.core.state import (
    ROUND_COUNT_RANGE,
    Field,
    OneOf,
    add_prefix,
    check_json,
    damaged,
    entry_bytes,
    part_of,
    split_parts,
)
from swordplay.core.types import State
from swordplay.late import LateModel
from swordplay.serving.column_limits import may_add_columns, require_size
from swordplay.serving.errors import RequestError
from swordplay.serving.limits import UNLIMITED, Bounds
from swordplay.serving.log_format import Event
from swordplay.serving.messages import (
    KINDS,
    Declaration,
    RowResponse,
    encode_json,
    encode_rows,
)
from swordplay.serving.recent_tickets import RecentTickets
from swordplay.serving.requests import (
    MAX_SMALL_ROWS,
    MODEL_NAME,
    Request,
    RowRequest,
    SeriesPart,
    parse_rows,
)
from swordplay.serving.series import NewRows, Series
from swordplay.serving.series_stats import SeriesStats

logger = logging.getLogger("swordplay.serve")

ROW_HASH = OneOf((str, Field(0, 2**64 - 1, whole=True)))
ABOUT = {"bounds": [ROUND_COUNT_RANGE], "kinds": {str: str}, "series": [(str, str)]}
"""Shape of the entry ``about`` of a state: bounds, kinds of models by name, names of series."""
RowResponses = Sequence[RowResponse | None]
"""Responses to the rows of one series."""
Outcome = bytes | RequestError
"""How an event ends: the response as JSON, or an error."""


def internal_error(error: BaseException) -> RequestError:
    """Log an unexpected exception, without any data, and return the error for the client."""
    trace, where = error.__traceback__, "?"
    while trace is not None:
        where, trace = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}", trace.tb_next
    logger.error("%s in %s", type(error).__name__, where)
    return RequestError(
        500,
        f"the server failed on this request ({type(error).__name__}). This is a bug: please "
        "report it.",
    )


@final
class Models:
    """Models by name, and their series by key.

    Parameters
    ----------
    bounds
        Limits on models, series and tickets.
    """

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self.kinds: dict[str, str] = {}
        """What each model predicts, by its name."""
        self.series: dict[tuple[str, str], Series] = {}
        """Series by model and key, in the order in which they were first used."""
        self.recent = RecentTickets()

    def apply(self, number: int, event: Event, request: Request) -> bytes:
        """Apply one event; return the response as JSON.

        Parameters
        ----------
        number
            Number of the event in the log.
        event, request
            The event as it was sent, and what it was parsed to.

        Raises
        ------
        RequestError
            If the event is rejected; nothing is changed then.
        """
        try:
            match request:
                case Bounds():
                    self.bounds = request
                    self._remove_oldest_tickets()
                    return b"{}"
                case Declaration():
                    return self._declare(event.model, request.target)
                case RowRequest():
                    return self._apply_rows(number, event, request)
        except RequestError:
            raise
        except MemoryError:  # it may succeed another time: the process ends instead
            raise
        except (TypeError, ValueError) as error:
            raise RequestError(400, str(error)) from error
        except Exception as error:
            raise internal_error(error) from error

    def apply_group(self, first: int, events: Sequence[tuple[Event, Request]]) -> list[Outcome]:
        """Apply events that follow each other; return how each of them ends.

        Successive asks of one series, and successive tells, are merged into one call of the model
        where that leads to the same bits: a call costs several times what a row does. Only rows
        that are plainly new are merged; everything else is applied alone, in its turn.

        Parameters
        ----------
        first
            Number of the first event.
        events
            Events as they were sent, and what they were parsed to.
        """
        outcomes: list[Outcome | None] = [None] * len(events)
        merged: MergedEvents | None = None

        def apply_alone(place: int) -> None:
            try:
                outcomes[place] = self.apply(first + place, *events[place])
            except RequestError as error:
                outcomes[place] = error

        def close() -> None:
            """Apply the events that were merged so far."""
            nonlocal merged
            if merged is not None and (len(merged.members) == 1 or not merged.apply(outcomes)):
                for member in merged.members:
                    apply_alone(member.place)
            elif merged is not None:
                self._remove_oldest_tickets()
            merged = None

        for place, (event, request) in enumerate(events):
            series = self._mergeable_series(event, request)
            if series is None:
                close()
                apply_alone(place)
                continue
            assert isinstance(request, RowRequest)
            if merged is not None and (merged.action, merged.series) != (event.action, series):
                close()
            merged = merged or MergedEvents(event.action, series)
            if not merged.add(place, first + place, request, self.bounds.pending):
                close()
                merged = MergedEvents(event.action, series)
                if not merged.add(place, first + place, request, self.bounds.pending):
                    merged = None
                    apply_alone(place)
        close()
        return outcomes  # type: ignore[return-value]  # each of them has ended

    def _mergeable_series(self, event: Event, request: Request) -> Series | None:
        """Return the series of an event that may be merged with others; None for other events."""
        if event.action not in ("ask", "tell") or not isinstance(request, RowRequest):
            return None
        if len(request.parts) != 1 or request.row_count > MAX_SMALL_ROWS:
            return None
        (part,) = request.parts
        series = self.series.get((event.model, part.key))
        # The limits on columns can be checked only after the events before were applied.
        if series is None or may_add_columns(series, part, self.bounds):
            return None
        return series

    def require_size(self, event: Event, request: Request) -> None:
        """Reject an event that is too large for the series as they are now (``column_limits``)."""
        if isinstance(request, RowRequest):
            require_size(self.series, self.bounds, event.model, request)

    def series_of(self, name: str) -> list[tuple[str, Series]]:
        """Return keys and series of a model.

        Raises
        ------
        RequestError
            404, if there is no such model.
        """
        if name not in self.kinds:
            raise RequestError(
                404,
                f"there is no model {short_repr(name)}. It is created when it is declared or first "
                "asked.",
            )
        return [(key, series) for (model, key), series in self.series.items() if model == name]

    # ------------------------------------------------------------------ single events

    def _declare(self, name: str, kind: str) -> bytes:
        known = self.kinds.get(name)
        if known not in (None, kind):
            raise RequestError(
                409,
                f"the model {short_repr(name)} predicts {known} already, and not {kind}. Choose "
                "another name.",
            )
        if known is None:
            self._require_room(name)
        self.kinds[name] = kind
        return encode_json({"model": name, "target": kind})

    def _apply_rows(self, number: int, event: Event, request: RowRequest) -> bytes:
        self.require_size(event, request)
        if event.action == "ask":
            responses = self._ask(number, event, request)
        else:
            responses = self._answer(event, request)
        self._remove_oldest_tickets()
        if len(request.parts) == 1:
            return encode_rows(responses[0], request.is_list)
        rows: list[RowResponse | None] = [None] * request.row_count
        for part, some in zip(request.parts, responses, strict=True):
            for place, response in zip(part.places, some, strict=True):
                rows[place] = response
        return encode_rows(rows, request.is_list)

    def _ask(self, number: int, event: Event, request: RowRequest) -> list[RowResponses]:
        """Predict rows, of several series perhaps; create models and series as needed."""
        model = event.model
        kind = self.kinds.get(model, event.target)
        if model not in self.kinds:
            self._require_room(model)
        new_keys = [part.key for part in request.parts if (model, part.key) not in self.series]
        if len(self.series) + len(new_keys) > self.bounds.series:
            raise RequestError(
                429,
                f"a server has at most {self.bounds.series:,} series (models and their keys). "
                "Start another one.",
            )
        created = {
            key: Series(kind, len(self.series) + k, self.recent) for k, key in enumerate(new_keys)
        }
        if not all(
            self.series[model, part.key].has_no_earlier_ids(part)
            for part in request.parts
            if part.key not in created
        ):
            # Compare repeated rows with the earlier ones as they are written, not as a table.
            as_written = parse_rows(event, UNLIMITED)
            assert isinstance(as_written, RowRequest)
            request = as_written
        checked: list[tuple[Series, NewRows]] = []
        for part in request.parts:
            series = created.get(part.key) or self.series[model, part.key]
            checked.append((series, series.check_ask(part, number, self.bounds.pending)))
        responses: list[RowResponses] = []
        try:
            for series, new in checked:
                responses.append(series.ask(new))
        except BaseException:
            for series, new in checked[: len(responses)]:
                series.take_back(new)
            raise
        self.kinds[model] = kind
        self.series |= {(model, key): series for key, series in created.items()}
        return responses

    def _answer(self, event: Event, request: RowRequest) -> list[RowResponses]:
        """Learn answers, or drop tickets: all of them are checked before the first one is."""
        known = dict(self.series_of(event.model))
        for part in request.parts:
            if part.key not in known:
                raise RequestError(
                    404,
                    f"the model {short_repr(event.model)} has no key {short_repr(part.key)}. Ask "
                    "first.",
                    row=part.places[0],
                )
        if event.action == "tell":
            tells = [(known[part.key], known[part.key].check_tell(part)) for part in request.parts]
            return [series.tell(new) for series, new in tells]
        drops = [(known[part.key], known[part.key].check_drop(part)) for part in request.parts]
        return [series.drop(new) for series, new in drops]

    def _require_room(self, name: str) -> None:
        if len(self.kinds) >= self.bounds.models:
            raise RequestError(
                429,
                f"a server has at most {self.bounds.models:,} models, and {short_repr(name)} would "
                "be one more.",
            )

    def _remove_oldest_tickets(self) -> None:
        self.recent.remove_oldest(self.bounds.remembered)

    # ------------------------------------------------------------------ saving

    def state(self) -> State:
        """Return all that the next event depends on."""
        about = {
            "bounds": self.bounds,
            "kinds": self.kinds,
            "series": [[model, key] for model, key in self.series],
        }
        state: State = {"about": _to_array(about), "recent": _as_array(self.recent.dumps())}
        for number, series in enumerate(self.series.values()):
            state |= add_prefix(f"late.{number}", series.late.state())
            state[f"hashes.{number}"] = _to_array(series.pending_hashes())
            state[f"stats.{number}"] = _as_array(series.stats.dumps().encode("ascii"))
        return state

    @classmethod
    def from_state(cls, saved: Mapping[str, Any]) -> Models:
        """Restore the models from their state.

        Raises
        ------
        CheckpointError
            If it is not a state that :meth:`state` returned.
        """
        try:
            return cls._from_parts(split_parts(saved))
        except (
            TypeError,
            ValueError,
            LookupError,
            AttributeError,
            OverflowError,
            RecursionError,
        ) as error:
            raise CheckpointError(
                f"the checkpoint of the server does not fit this version: {error}"
            ) from error

    @classmethod
    def _from_parts(cls, parts: dict[str, Any]) -> Models:
        about = json.loads(entry_bytes("about", parts["about"]))
        check_json("about", about, ABOUT)
        models = cls(Bounds(*about["bounds"]))
        models.kinds = about["kinds"]
        has_names = all(map(MODEL_NAME.fullmatch, models.kinds))
        if not has_names or not set(models.kinds.values()) <= {*KINDS}:
            raise damaged(f"a server cannot have the models {short_repr(models.kinds)}")
        models.recent = RecentTickets.loads(entry_bytes("recent", parts["recent"]))
        states = split_parts(part_of("late", parts)) if about["series"] else {}
        for number, (model, key) in enumerate(about["series"]):
            kind = models.kinds[model]
            late = LateModel.from_state(states[str(number)])
            if late.predicts_labels != (kind != KINDS[0]):
                raise damaged(f"the series {short_repr(key)} cannot predict {short_repr(kind)}")
            series = Series(kind, number, models.recent, late)
            hashes = parts["hashes"][str(number)]
            series.row_hashes = json.loads(entry_bytes(f"hashes.{number}", hashes))
            check_json(f"hashes.{number}", series.row_hashes, {str: ROW_HASH})
            stats = entry_bytes(f"stats.{number}", parts["stats"][str(number)])
            series.stats = SeriesStats.loads(stats.decode("ascii"))
            models.series[model, key] = series
        if len(models.series) < len(about["series"]):
            raise damaged(f"two series have the same name in {short_repr(about['series'])}")
        return models


class MergedEvent(NamedTuple):
    """An event among those that are merged."""

    place: int
    """Position in its group of events."""
    request: RowRequest
    new: NewRows


@final
class MergedEvents:
    """Events of one action and one series, all of whose rows are new, applied by one call."""

    def __init__(self, action: str, series: Series) -> None:
        self.action = action
        self.series = series
        self.members: list[MergedEvent] = []
        self._ids: set[str] = set()

    def add(self, place: int, number: int, request: RowRequest, max_pending: int) -> bool:
        """Add an event if all of its rows are new and valid; else return False."""
        (part,) = request.parts
        try:
            new = self._check(part, number, max_pending)
        except RequestError:
            return False
        if new is None or len(new.ids) < len(new.responses) or not self._ids.isdisjoint(new.ids):
            return False
        self._ids.update(new.ids)
        self.members.append(MergedEvent(place, request, new))
        return True

    def _check(self, part: SeriesPart, number: int, max_pending: int) -> NewRows | None:
        if self.action == "ask":
            return self.series.check_ask(part, number, max_pending - len(self._ids))  # type: ignore[arg-type]
        # A point of the curves has the step size at that time, so its last row ends the merge.
        if len(self._ids) >= self.series.stats.rows_to_next_point:
            return None
        return self.series.check_tell(part)  # type: ignore[arg-type]

    def apply(self, outcomes: list[Outcome | None]) -> bool:
        """Apply all events and put the responses into their places.

        False if a row is rejected; nothing is changed then.
        """
        ids = [name for member in self.members for name in member.new.ids]
        values = [value for member in self.members for value in member.new.values]
        new = NewRows([None] * len(ids), ids, values)
        if self.action == "tell":
            responses = self.series.tell(new)
        else:
            try:
                responses = self.series.ask(new)
            except (TypeError, ValueError):
                return False
        first = 0
        for place, request, one in self.members:
            last = first + len(one.ids)
            outcomes[place] = encode_rows(responses[first:last], request.is_list)
            first = last
        return True


def _as_array(text: bytes) -> NDArray[np.uint8]:
    """Return bytes as the array that a checkpoint stores."""
    return np.frombuffer(text, dtype=np.uint8)


def _to_array(value: Any) -> NDArray[np.uint8]:
    return _as_array(encode_json(value))
