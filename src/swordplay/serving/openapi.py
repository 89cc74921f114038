"""The interface of a server as OpenAPI 3.1 describes it, for programs that make clients of it."""

from __future__ import annotations

from typing import Any

from swordplay import __version__
from swordplay.serving.limits import LONGEST_MODEL, LONGEST_NAME, Limits
from swordplay.serving.requests import KINDS

Schema = dict[str, Any]

NAME: Schema = {"type": "string", "minLength": 1, "maxLength": LONGEST_NAME}
KEY: Schema = {
    **NAME,
    "description": "The series within the model; one without a name unless given.",
}
LABEL: Schema = {"type": ["number", "string", "boolean"]}
ASK: Schema = {
    "type": "object",
    "required": ["x"],
    "additionalProperties": False,
    "properties": {
        "x": {
            "type": "object",
            "additionalProperties": {"type": ["number", "string", "boolean", "null"]},
        },
        "id": {
            **NAME,
            "description": "Made up by the server unless given. The same id again gets the "
            "same answer.",
        },
        "key": KEY,
    },
}
TELL: Schema = {
    "type": "object",
    "required": ["id", "y"],
    "additionalProperties": False,
    "properties": {"id": NAME, "y": LABEL, "key": KEY},
}
DROP: Schema = {
    "type": "object",
    "required": ["id"],
    "additionalProperties": False,
    "properties": {"id": NAME, "key": KEY},
}
TICKET: Schema = {
    "type": "object",
    "properties": {
        "id": NAME,
        "prediction": {"type": ["number", "string", "boolean", "null"]},
        "lower": {"type": ["number", "null"]},
        "upper": {"type": ["number", "null"]},
        "probabilities": {"type": "object", "additionalProperties": {"type": "number"}},
    },
}
ANSWERED: Schema = {
    "type": "object",
    "properties": {
        "id": NAME,
        "prediction": TICKET["properties"]["prediction"],
        "y": LABEL,
        "error": {"type": ["number", "null"], "description": "Null where nothing was predicted."},
    },
}
DROPPED: Schema = {"type": "object", "properties": {"id": NAME, "dropped": {"const": True}}}
REFUSED: Schema = {
    "type": "object",
    "properties": {
        "error": {"type": "string"},
        "row": {"type": "integer"},
        "byte": {"type": "integer"},
    },
}
DECLARED: Schema = {
    "type": "object",
    "required": ["target"],
    "properties": {"target": {"enum": list(KINDS)}},
}
REFUSALS = {
    "400": "It cannot be read, or is no row; with the byte or the row where it goes wrong.",
    "401": "The token is wrong or missing.",
    "403": "Another web page may not change anything.",
    "404": "There is no such model or ticket.",
    "408": "It took too long to arrive.",
    "409": "It contradicts what was sent before under the same id or name.",
    "413": "It is too large.",
    "421": "The server is not called that.",
    "429": "Too many tickets, models, keys or columns, or too many rows for so many columns.",
    "503": "The server is stopping, or has too much to do.",
    "507": "The disk is full.",
}
"""What a request that changes something may be refused with; nothing is changed then."""
ACTIONS = (
    ("ask", "Predict rows whose answers are not known yet.", ASK, TICKET),
    ("tell", "Tell the answers of rows that were asked; they are learned.", TELL, ANSWERED),
    ("drop", "Give up tickets whose answers will never come.", DROP, DROPPED),
)


def description(limits: Limits) -> Schema:
    """The whole of it, with the limits of this server."""
    paths: Schema = {}
    for action, words, item, answer in ACTIONS:
        paths[f"/{action}"] = {"post": _change(words, _few(item), _few(answer), limits)}
        named = _change(words, _few(item), _few(answer), limits) | {"parameters": [_model()]}
        paths[f"/models/{{name}}/{action}"] = {"post": named}
    declared = _change(
        "Say what a model predicts, before its first row.", DECLARED, DECLARED, limits
    )
    paths["/models/{name}"] = {
        "put": declared | {"parameters": [_model()]},
        "get": _look("A model.", [_model()]),
    }
    key = {"name": "key", "in": "query", "schema": NAME}
    paths["/models"] = {"get": _look("All models.")}
    paths["/models/{name}/summary"] = {
        "get": _look("What a model has to say about a series.", [_model(), key])
    }
    paths["/health"] = {"get": _look("Whether it works.")}
    paths["/metrics"] = {"get": _look("Counts, for Prometheus.", kind="text/plain")}
    chosen = [{"name": "model", "in": "query", "schema": _model()["schema"]}, key]
    paths["/events"] = {
        "get": _look("The figures of a series while they change.", chosen, kind="text/event-stream")
    }
    info = {
        "title": "swordplay serve",
        "version": __version__,
        "description": "Predict now, learn later.",
    }
    token = {"token": {"type": "http", "scheme": "bearer"}}
    return {
        "openapi": "3.1.0",
        "info": info,
        "paths": paths,
        "components": {"securitySchemes": token},
    }


def _few(item: Schema) -> Schema:
    """One, or a list of such."""
    return {"oneOf": [item, {"type": "array", "items": item}]}


def _change(words: str, body: Schema, answer: Schema, limits: Limits) -> Schema:
    content = {"application/json": {"schema": body}, "application/x-ndjson": {"schema": body}}
    refused = {
        code: {"description": why, "content": _as_json(REFUSED)} for code, why in REFUSALS.items()
    }
    about = (
        f"{words} At most {limits.body:,} bytes and {limits.rows:,} rows, accepted whole or "
        "not at all."
    )
    return {
        "summary": words,
        "description": about,
        "security": [{"token": []}, {}],
        "requestBody": {"required": True, "content": content},
        "responses": {
            "200": {"description": "It is on the disk, and done.", "content": _as_json(answer)},
            **refused,
        },
    }


def _look(
    words: str, parameters: list[Schema] | None = None, kind: str = "application/json"
) -> Schema:
    named = any(one["in"] == "path" for one in parameters or ())
    missing = (
        {"404": {"description": REFUSALS["404"], "content": _as_json(REFUSED)}} if named else {}
    )
    return {
        "summary": words,
        "parameters": parameters or [],
        "responses": {"200": {"description": words, "content": {kind: {}}}} | missing,
    }


def _model() -> Schema:
    schema = {"type": "string", "pattern": f"^[A-Za-z0-9_-]{{1,{LONGEST_MODEL}}}$"}
    return {"name": "name", "in": "path", "required": True, "schema": schema}


def _as_json(schema: Schema) -> Schema:
    return {"application/json": {"schema": schema}}
