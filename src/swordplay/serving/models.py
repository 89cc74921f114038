"""All models of a server: what each event does to them, and the answer that it gets.

The same events in the same order lead to the same models and the same answers, bit by bit: nothing
here looks at a clock, at chance, or at anything but the events.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, final

import numpy as np

from swordplay.core.arguments import short_repr
from swordplay.core.checkpoint import CheckpointError
from swordplay.core.state import (
    ROUND_COUNT,
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
from swordplay.serving import replies
from swordplay.serving.answered import Memory, Told
from swordplay.serving.learning import LateModel
from swordplay.serving.limits import UNLIMITED, Bounds
from swordplay.serving.log import Event
from swordplay.serving.refusals import Refusal
from swordplay.serving.replies import Reply
from swordplay.serving.requests import KINDS, MODEL, Change, Declaration, Wanted, by_row
from swordplay.serving.series import Plan, Series
from swordplay.serving.sizes import require_size
from swordplay.serving.watch import Watch

logger = logging.getLogger("swordplay.serve")

SOME = 1_000
"""Answered tickets that are written at a time."""
FINGERPRINT = OneOf((str, Field(0, 2**64 - 1, whole=True)))
"""Shape of what the rows of an id are recognised by (see ``recognition``)."""
ABOUT = {"bounds": [ROUND_COUNT], "kinds": {str: str}, "series": [(str, str)]}
"""Shape of the entry ``about``: bounds, kinds of models by name, names of series."""
_dumped = json.JSONEncoder(separators=(",", ":")).encode
Replies = Sequence[Reply | None]
"""Answers of one part of a request."""


def failed(error: BaseException) -> Refusal:
    """A refusal for something that should not happen.

    What went wrong is logged, without any data.
    """
    trace, where = error.__traceback__, "?"
    while trace is not None:
        where, trace = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}", trace.tb_next
    logger.error("%s in %s", type(error).__name__, where)
    return Refusal(
        500,
        f"the server failed on it ({type(error).__name__}), which it should not: please report it.",
    )


@final
class Models:
    """Models by name, series of them by key.

    Parameters
    ----------
    bounds
        How much of it there may be.
    """

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self.kinds: dict[str, str] = {}
        """What each model predicts, by its name."""
        self.series: dict[tuple[str, str], Series] = {}
        """By model and key; in the order in which they were first used."""
        self.memory = Memory()

    def perform(self, number: int, event: Event, wanted: Change) -> bytes:
        """Do what an event wants; the answer as JSON.

        Parameters
        ----------
        number
            Of the event.
        event, wanted
            As it was sent, and as it was read.

        Raises
        ------
        Refusal
            Nothing is changed then.
        """
        try:
            match wanted:
                case Bounds():
                    self.bounds = wanted
                    self.forget()
                    return b"{}"
                case Declaration(kind):
                    return self._declare(event.model, kind)
                case Wanted():
                    return self._of_rows(number, event, wanted)
        except Refusal:
            raise
        except MemoryError:  # another time it may go well: not ours to answer
            raise
        except (TypeError, ValueError) as error:
            raise Refusal(400, str(error)) from error
        except Exception as error:
            raise failed(error) from error

    def require_size(self, event: Event, wanted: Change) -> None:
        """Refuse an event that is too large for the series as they are now (see ``sizes``).

        Nothing is changed.
        """
        if isinstance(wanted, Wanted):
            require_size(self.series, self.bounds, event.model, wanted)

    def of(self, name: str) -> list[tuple[str, Series]]:
        """Keys and series of a model.

        Raises
        ------
        Refusal
            404, if there is no such model.
        """
        if name not in self.kinds:
            raise Refusal(
                404,
                f"there is no model {short_repr(name)}. It is made when it is declared or first "
                "asked.",
            )
        return [(key, series) for (model, key), series in self.series.items() if model == name]

    # ------------------------------------------------------------------ events

    def _declare(self, name: str, kind: str) -> bytes:
        known = self.kinds.get(name)
        if known not in (None, kind):
            raise Refusal(
                409,
                f"the model {short_repr(name)} predicts {known} already, and not {kind}. Choose "
                "another name.",
            )
        if known is None:
            self._require_room(name)
        self.kinds[name] = kind
        return replies.body({"model": name, "target": kind})

    def _of_rows(self, number: int, event: Event, wanted: Wanted) -> bytes:
        self.require_size(event, wanted)
        done = (
            self._ask(number, event, wanted)
            if event.action == "ask"
            else self._answer(event, wanted)
        )
        self.forget()
        if len(wanted.parts) == 1:
            return replies.listed(done[0], wanted.many)
        rows: list[Reply | None] = [None] * wanted.rows
        for part, answers in zip(wanted.parts, done, strict=True):
            for place, answer in zip(part.places, answers, strict=True):
                rows[place] = answer
        return replies.listed(rows, wanted.many)

    def _ask(self, number: int, event: Event, wanted: Wanted) -> list[Replies]:
        kind = self.kinds.get(event.model, event.target)
        if event.model not in self.kinds:
            self._require_room(event.model)
        news = [part.key for part in wanted.parts if (event.model, part.key) not in self.series]
        if len(self.series) + len(news) > self.bounds.series:
            raise Refusal(
                429,
                f"a server has at most {self.bounds.series:,} series (models and their keys). "
                "Start another one.",
            )
        fresh = {key: Series(kind, len(self.series) + k, self.memory) for k, key in enumerate(news)}
        known = [
            (self.series[event.model, part.key], part)
            for part in wanted.parts
            if part.key not in fresh
        ]
        if not all(series.are_new(part) for series, part in known):
            change = by_row(
                event, UNLIMITED
            )  # to see whether rows that came before are written as they were
            assert isinstance(change, Wanted)
            wanted = change
        plans: list[tuple[Series, Plan]] = []
        for part in wanted.parts:
            series = fresh.get(part.key) or self.series[event.model, part.key]
            plans.append((series, series.check_ask(part, number, self.bounds.pending)))
        done: list[Replies] = []
        try:
            for series, plan in plans:
                done.append(series.ask(plan))
        except BaseException:
            for series, plan in plans[: len(done)]:
                series.take_back(plan)
            raise
        self.kinds[event.model] = kind
        self.series |= {(event.model, key): series for key, series in fresh.items()}
        return done

    def _answer(self, event: Event, wanted: Wanted) -> list[Replies]:
        """Answers, or tickets to drop: all is checked, then all is done."""
        found = dict(self.of(event.model))
        for part in wanted.parts:
            if part.key not in found:
                raise Refusal(
                    404,
                    f"the model {short_repr(event.model)} has no key {short_repr(part.key)}. Ask "
                    "first.",
                    row=part.places[0],
                )
        if event.action == "tell":
            tells = [(found[part.key], found[part.key].check_tell(part)) for part in wanted.parts]
            return [series.tell(plan) for series, plan in tells]
        drops = [(found[part.key], found[part.key].check_drop(part)) for part in wanted.parts]
        return [series.drop(plan) for series, plan in drops]

    def _require_room(self, name: str) -> None:
        if len(self.kinds) >= self.bounds.models:
            raise Refusal(
                429,
                f"a server has at most {self.bounds.models:,} models, and {short_repr(name)} would "
                "be one more.",
            )

    def forget(self) -> None:
        """Forget the oldest answered tickets beyond the limit."""
        self.memory.forget(self.bounds.remembered)

    # ------------------------------------------------------------------ saving

    def state(self) -> State:
        """All that the next event needs."""
        names = [[model, key] for model, key in self.series]
        about = {"bounds": self.bounds, "kinds": self.kinds, "series": names}
        state: State = {"about": _packed(about), "memory": _remembered(self.memory)}
        for place, series in enumerate(self.series.values()):
            state |= add_prefix(f"late.{place}", series.late.state())
            state[f"rows.{place}"] = _packed(series.prints())
            state[f"watch.{place}"] = _packed(series.watch.dumps())
        return state

    @classmethod
    def of_state(cls, saved: Mapping[str, Any]) -> Models:
        """The models that were saved.

        Raises
        ------
        CheckpointError
            If it is not what :meth:`state` returns.
        """
        try:
            return cls._of_state(split_parts(saved))
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
    def _of_state(cls, parts: dict[str, Any]) -> Models:
        about = _unpacked("about", parts["about"])
        check_json("about", about, ABOUT)
        models = cls(Bounds(*about["bounds"]))
        models.kinds = about["kinds"]
        if not all(map(MODEL.fullmatch, models.kinds)) or not set(models.kinds.values()) <= {
            *KINDS
        }:
            raise damaged(f"a server cannot have the models {short_repr(models.kinds)}")
        for series_place, name, *told in _unpacked("memory", parts["memory"]):
            if type(series_place) is not int:
                raise damaged(
                    f"the series of an answered ticket cannot be {short_repr(series_place)}"
                )
            if name in models.memory.names(series_place):
                raise damaged(f"an answered ticket occurs twice, {short_repr(name)}")
            models.memory.put(series_place, [name], [Told.of_saved(name, *told)])
        states = split_parts(part_of("late", parts)) if about["series"] else {}
        for place, (model, key) in enumerate(about["series"]):
            kind = models.kinds[model]
            late = LateModel.from_state(states[str(place)])
            if late.predicts_labels != (kind != KINDS[0]):
                raise damaged(f"the series {short_repr(key)} cannot predict {short_repr(kind)}")
            series = Series(kind, place, models.memory, late)
            series.rows = _unpacked(f"rows.{place}", parts["rows"][str(place)])
            check_json(f"rows.{place}", series.rows, {str: FINGERPRINT})
            series.watch = Watch.loads(_unpacked(f"watch.{place}", parts["watch"][str(place)]))
            models.series[model, key] = series
        if len(models.series) < len(about["series"]):
            raise damaged(f"two series have the same name in {short_repr(about['series'])}")
        return models


def _remembered(memory: Memory) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """The answered tickets, some at a time: all of them at once would be several times what they
    are.
    """
    entries, parts = memory.items(), list[bytes]()
    while some := [(place, name, *told.saved()) for place, name, told in islice(entries, SOME)]:
        parts.append(replies.saved(some)[1:-1])
    return np.frombuffer(b"[" + b",".join(parts) + b"]", dtype=np.uint8)


def _packed(value: Any) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """A value as bytes of JSON, which a checkpoint holds as an array."""
    return np.frombuffer(_dumped(value).encode("ascii"), dtype=np.uint8)


def _unpacked(name: str, array: Any) -> Any:
    return json.loads(entry_bytes(name, array))
