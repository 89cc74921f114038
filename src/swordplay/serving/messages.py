"""Types of the bodies of requests and responses, and the OpenAPI description made from them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec

from swordplay import __version__
from swordplay.late import Ticket
from swordplay.serving.limits import MAX_MODEL_NAME_LENGTH, MAX_NAME_LENGTH, Limits

KINDS = ("number", "yes-no", "classes")
"""What a model predicts."""
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_NAME_LENGTH)]
Key = Annotated[
    str,
    msgspec.Meta(
        max_length=MAX_NAME_LENGTH,
        description="Name of the series within the model, each of which learns for itself.",
    ),
]
AskId = Annotated[
    Name | None,
    msgspec.Meta(
        description="Made by the server if missing. The same id again gets the same response."
    ),
]
Value = float | int | str | bool | None
Label = float | int | bool | Name
Row = Annotated[dict[str, Value], msgspec.Meta(description="Values by column; null is missing.")]

# ---------------------------------------------------------------------- requests


class AskRow(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A row to predict."""

    x: Row
    id: AskId = None
    key: Key = ""


class TellRow(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """The answer to a ticket: the true value of the target."""

    id: Name
    y: Label
    key: Key = ""


class DropRow(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A ticket whose answer will never come."""

    id: Name
    key: Key = ""


class Declaration(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What a model predicts."""

    target: Literal["number", "yes-no", "classes"]


# ---------------------------------------------------------------------- responses


class NumberPrediction(msgspec.Struct, gc=False):
    """The predicted number of a row and its interval; the ends are null while it is infinite."""

    id: str
    prediction: float | None
    lower: float | None
    upper: float | None


class ClassPrediction(msgspec.Struct, gc=False):
    """The predicted class of a row and the probability of each class."""

    id: str
    prediction: Value
    probabilities: dict[str, float]


class LearnedAnswer(msgspec.Struct, gc=False):
    """An answer that was learned; prediction and error are null if nothing was known before."""

    id: str
    prediction: Value
    y: Label
    error: Annotated[
        float | None,
        msgspec.Meta(description="Distance from the prediction; of classes 0 or 1."),
    ]


class DroppedTicket(msgspec.Struct, gc=False):
    """A ticket that was dropped."""

    id: str
    dropped: bool = True


class ErrorBody(msgspec.Struct, omit_defaults=True):
    """Why a request was rejected, and where in the request."""

    error: str
    row: int | msgspec.UnsetType = msgspec.UNSET
    byte: int | msgspec.UnsetType = msgspec.UNSET
    line: int | msgspec.UnsetType = msgspec.UNSET


RowResponse = NumberPrediction | ClassPrediction | LearnedAnswer | DroppedTicket
"""The response to one row of a request."""
_encode = msgspec.json.Encoder().encode
_encode_any = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def prediction_of(ticket: Ticket) -> RowResponse:
    """Return the response to a row that was asked."""
    name, prediction, lower, upper, probabilities = ticket
    if probabilities is None:
        return NumberPrediction(name, prediction, lower, upper)
    by_name = {_label_name(label): share for label, share in probabilities.items()}
    return ClassPrediction(name, prediction, by_name)


def encode_rows(rows: Sequence[RowResponse | None], is_list: bool) -> bytes:
    """Encode the responses to all rows of a request, in their order; infinite numbers as null."""
    return _encode(rows if is_list else rows[0])


def encode_json(value: Any) -> bytes:
    """Encode any other value."""
    return _encode_any(value).encode("ascii")


def _label_name(label: Any) -> str:
    """Return a label as the name of a JSON object; numbers and booleans as JSON writes them."""
    return label if isinstance(label, str) else _encode_any(label)


# ---------------------------------------------------------------------- OpenAPI

Schema = dict[str, Any]
ERRORS = {
    "400": "The request is invalid; `row`, `byte` or `line` says where.",
    "401": "The token is missing or wrong.",
    "403": "The request comes from another web page.",
    "404": "There is no such model, key or ticket.",
    "408": "The request took too long to arrive.",
    "409": "It contradicts an earlier request with the same id or name.",
    "413": "It is too large.",
    "421": "The host name is not one of the server.",
    "429": "A limit on tickets, models, keys or columns is reached.",
    "503": "The server is overloaded or stopping.",
    "507": "The disk is full.",
}
"""Statuses of requests that are rejected and change nothing."""
ACTIONS: tuple[tuple[str, str, Any, list[Any]], ...] = (
    ("ask", "Predict rows.", AskRow, [NumberPrediction, ClassPrediction]),
    ("tell", "Learn the answers of rows that were asked.", TellRow, [LearnedAnswer]),
    ("drop", "Drop tickets whose answers will never come.", DropRow, [DroppedTicket]),
)
"""Path, summary, type of a row of the request, and types of a row of the response."""


def openapi(limits: Limits) -> Schema:
    """Describe the HTTP API of a server with these limits (OpenAPI 3.1)."""
    name = {
        "name": "name",
        "in": "path",
        "required": True,
        "schema": {"type": "string", "pattern": f"^[A-Za-z0-9_-]{{1,{MAX_MODEL_NAME_LENGTH}}}$"},
    }
    key = {"name": "key", "in": "query", "schema": {"type": "string"}}
    model = {"name": "model", "in": "query", "schema": name["schema"]}
    types = [kind for _, _, row, responses in ACTIONS for kind in (row, *responses)]
    types += [Declaration, ErrorBody]
    found, components = msgspec.json.schema_components(
        types, ref_template="#/components/schemas/{name}"
    )
    schemas = dict(zip(types, found, strict=True))
    error = schemas[ErrorBody]
    paths: Schema = {}
    for action, summary, row, responses in ACTIONS:
        body = _one_or_list([schemas[row]])
        response = _one_or_list([schemas[kind] for kind in responses])
        change = _describe_change(summary, body, response, error, limits)
        paths[f"/{action}"] = {"post": change}
        paths[f"/models/{{name}}/{action}"] = {"post": change | {"parameters": [name]}}
    declaration = schemas[Declaration]
    declare = _describe_change(
        "Declare what a model predicts.", declaration, declaration, error, limits
    )
    paths["/models/{name}"] = {
        "put": declare | {"parameters": [name]},
        "get": _describe_read("Counts of a model.", error, [name]),
    }
    paths["/models/{name}/summary"] = {
        "get": _describe_read("Report of a series.", error, [name, key])
    }
    paths["/models"] = {"get": _describe_read("All models.", error)}
    paths["/health"] = {"get": _describe_read("Status of the server.", error)}
    paths["/metrics"] = {
        "get": _describe_read("Metrics for Prometheus.", error, media_type="text/plain")
    }
    paths["/events"] = {
        "get": _describe_read(
            "Figures of a series while they change (server-sent events).",
            error,
            [model, key],
            media_type="text/event-stream",
        )
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "swordplay serve",
            "version": __version__,
            "description": "Predict rows now, learn their answers later.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _describe_change(
    summary: str, body: Schema, response: Schema, error: Schema, limits: Limits
) -> Schema:
    """Describe a request that changes something."""
    rejected = {
        status: {"description": reason, "content": _json_content(error)}
        for status, reason in ERRORS.items()
    }
    return {
        "summary": summary,
        "description": (
            f"{summary} At most {limits.body:,} bytes and {limits.rows:,} rows, accepted whole or "
            "not at all."
        ),
        "security": [{"token": []}, {}],
        "requestBody": {
            "required": True,
            "content": _json_content(body) | {"application/x-ndjson": {"schema": body}},
        },
        "responses": {
            "200": {
                "description": "The event is on the disk and applied.",
                "content": _json_content(response),
            },
            **rejected,
        },
    }


def _describe_read(
    summary: str,
    error: Schema,
    parameters: Sequence[Schema] = (),
    media_type: str = "application/json",
) -> Schema:
    """Describe a request that changes nothing."""
    responses: Schema = {"200": {"description": summary, "content": {media_type: {}}}}
    if any(parameter["in"] == "path" for parameter in parameters):
        responses["404"] = {"description": ERRORS["404"], "content": _json_content(error)}
    return {"summary": summary, "parameters": list(parameters), "responses": responses}


def _one_or_list(rows: list[Schema]) -> Schema:
    """Describe one row, or a list of rows, of any of these schemas."""
    return {"oneOf": [*rows, *({"type": "array", "items": row} for row in rows)]}


def _json_content(schema: Schema) -> Schema:
    return {"application/json": {"schema": schema}}
