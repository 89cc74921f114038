"""Wide series and large requests: refused in words before they are in the log.

What the limits allow needs little memory.
"""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from swordplay.late import LateModel, learning
from swordplay.serving.errors import RequestError
from swordplay.serving.limits import Bounds, Limits
from swordplay.serving.log_format import Event
from swordplay.serving.models import Models
from swordplay.serving.requests import parse

MOST_MB = 300


def most_memory(server):
    """The most MB that a server had in memory so far."""
    return (
        int(re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{server.process}/status").read_text())[1])
        / 1024
    )


def learn(client, path, names):
    name = f"{path}-{names[0]}"
    assert client.post(f"{path}/ask", {"x": dict.fromkeys(names, 1.0), "id": name})[0] == 200
    assert client.post(f"{path}/tell", {"id": name, "y": 1.0})[0] == 200


def test_many_empty_rows_to_the_widest_series_need_little_memory(launcher, tmp_path):
    """40 requests of 1,000 new names, then 90 kB of empty rows, took 3 GB and half a minute, and
    again at every start.
    """
    options = ("--state", tmp_path / "state")
    server = launcher.start(*options)
    client = server.client()
    learn(client, "/models/narrow", [f"a{k}" for k in range(300)])
    for k in range(10):
        learn(client, "/models/wide", [f"{k}.{j}" for j in range(1000)])
    before, number = most_memory(server), client.get("/health")[1]["event"]
    rows = [{"x": {}, "id": f"{k}"} for k in range(10_000)]
    status, answer = client.post("/models/wide/ask", {"x": {f"b{j}": 1.0 for j in range(1000)}})
    assert (
        status,
        "10,000 columns" in answer["error"],
        "--max-series-columns" in answer["error"],
    ) == (429, True, True)
    status, answer = client.post("/models/wide/ask", rows)
    assert (
        status,
        "3,000,000 rows times columns" in answer["error"],
        "--max-cells" in answer["error"],
    ) == (429, True, True)
    assert (
        client.get("/health")[1]["event"] == number
    )  # both were refused before they were in the log
    for path, count in (("/models/wide", 300), ("/models/narrow", 10_000)):
        for action, some in (
            ("ask", rows[:count]),
            ("tell", [{"id": row["id"], "y": 2.0} for row in rows[:count]]),
        ):
            status, answer = client.post(f"{path}/{action}", some)
            assert (status, len(answer)) == (200, count), answer
    assert client.post("/models/wide/ask", {"x": {}, "id": "last"})[0] == 200
    assert most_memory(server) - before < MOST_MB
    client.close()
    server.kill()
    server = launcher.start(*options, "--max-series-columns", 11_000)
    assert "events replayed" in server.said()
    client = server.client()
    assert client.get("/models/wide")[1]["pending"] == 1
    learn(client, "/models/wide", [f"b{j}" for j in range(1000)])  # the limit is higher now
    assert most_memory(server) - before < MOST_MB
    client.close()
    server.stop()


class Served:
    """Models without a server."""

    def __init__(self, **bounds):
        self.models, self.number = Models(Bounds(**bounds)), 0

    def send(self, action, *rows, model="m"):
        event = Event(action, model, "number", json.dumps(rows).encode())
        self.number += 1
        return json.loads(self.models.apply(self.number, event, parse(event, Limits())))

    def columns(self, model="m", key=""):
        return self.models.series[model, key].value_types.columns


def row(name, x, **more):
    return {"id": name, "x": x, **more}


def numbers(first, count):
    return {f"{k}": 1.0 for k in range(first, first + count)}


def test_columns_of_a_series_are_counted_as_the_model_has_them():
    served = Served()
    served.send(
        "ask",
        row(
            "a", {"n": 1.0, "w": "red", "d": "2024-01-30", "t": "12:30", "none": None, "true": True}
        ),
    )
    served.send("ask", row("b", {"w": "blue"}), row("c", {"w": "green"}))
    assert served.columns() == 1 + 1 + 6 + 2 + 1
    for k, name in enumerate("abc"):
        served.send("tell", {"id": name, "y": float(k)})
        late = served.models.series["m", ""].late
        assert served.columns() == 11 + k == len(late.model._columns) == late.deferred.columns


def test_a_series_has_so_many_columns():
    served = Served(columns=20)
    served.send("ask", row("a", numbers(0, 15)))
    with pytest.raises(
        RequestError, match="at most 20 columns; the one has 15, and would have 21"
    ) as refusal:
        served.send("ask", row("b", numbers(15, 3)), row("c", numbers(17, 4)))
    assert refusal.value.status == 429
    with pytest.raises(RequestError, match="would have 21"):
        served.send("ask", row("b", {"date": None}), row("c", {"date": "2024-01-01"}))
    with pytest.raises(RequestError, match="would have 21"):  # one of more than a few is a table
        served.send("ask", *[row(f"{k}", numbers(0, 21)) for k in range(70)])
    served.send("ask", row("b", numbers(15, 5)), row("c", numbers(0, 20)), row("d", {}))
    with pytest.raises(RequestError, match="with key 'k' has 0, and would have 21"):
        served.send("ask", row("e", numbers(0, 21), key="k"))
    served.send("ask", row("e", numbers(7, 20), key="k"))


def test_words_that_are_too_many_are_refused_when_they_would_be_learned():
    served = Served(columns=60)
    served.send("ask", *[row(f"{k}", {"a": f"a{k}", "b": f"b{k}", "c": 1.0}) for k in range(31)])
    served.send("tell", *[{"id": f"{k}", "y": 1.0} for k in range(29)])
    assert served.columns() == 59
    with pytest.raises(RequestError, match=r"would have 61 .* Drop these tickets"):
        served.send("tell", {"id": "29", "y": 1.0})
    served.send("drop", {"id": "29"})
    served.send("ask", row("known", {"a": "a0", "b": "b1", "c": 2.0}))
    served.send("tell", {"id": "known", "y": 1.0})
    assert served.columns() == 59


def test_rows_times_columns():
    served = Served(cells=1_000)
    served.send("ask", row("a", numbers(0, 10)))
    served.send("ask", *[row(f"{k}", {}) for k in range(100)])
    with pytest.raises(
        RequestError, match="at most 1,000 rows times columns of their series, got 1,010"
    ):
        served.send("ask", *[row(f"{k}", {}) for k in range(100, 201)])
    with pytest.raises(RequestError, match="got 1,010"):
        served.send(
            "ask", *[row(f"{k}", {}) for k in range(100, 200)], row("k", numbers(0, 10), key="k")
        )
    served.send("ask", *[row(f"{k}", {}) for k in range(100, 200)], row("k", {}, key="k"))
    with pytest.raises(RequestError, match="got 1,500"):
        served.send("tell", *[{"id": f"{k}", "y": 1.0} for k in range(150)])
    served.send("tell", *[{"id": f"{k}", "y": 1.0} for k in range(99)], {"id": "a", "y": 1.0})
    # Rows that came before do not count.
    served.send("tell", *[{"id": f"{k}", "y": 1.0} for k in range(150)])
    served.send("ask", *[row(f"{k}", {}) for k in range(250)])
    served.send("drop", *[{"id": f"{k}"} for k in range(150, 250)])


def test_columns_of_all_series():
    served = Served(all_columns=30)
    served.send("ask", row("a", numbers(0, 10)), row("b", numbers(0, 10), key="k"), model="one")
    with pytest.raises(RequestError, match="would have 31"):
        served.send("ask", row("a", numbers(0, 6)), row("b", numbers(0, 5), key="k"), model="two")
    with pytest.raises(RequestError, match="at most 30 columns, and would have 31"):
        served.send("ask", row("a", numbers(0, 11)), model="two")
    served.send("ask", row("a", numbers(0, 10)), model="two")
    with pytest.raises(RequestError, match="would have 31"):
        served.send("ask", row("c", numbers(10, 1)), model="one")
    served.send("ask", row("c", numbers(0, 10)), model="one")


@pytest.mark.parametrize("action", ["ask", "tell"])
def test_events_of_one_group_do_not_pass_the_limit_together(action):
    """Each of them would be within it, were it alone."""
    served = Served(columns=20 if action == "ask" else 60)
    served.send("ask", row("first", numbers(0, 10) | {"w": "a0", "v": "b0"}))
    served.send("tell", {"id": "first", "y": 1.0})
    if action == "ask":
        bodies = [row(f"{k}", numbers(10 + 5 * k, 5)) for k in range(3)]
    else:
        served.send("ask", *[row(f"{k}", {"w": f"w{k}", "v": f"v{k}"}) for k in range(40)])
        bodies = [{"id": f"{k}", "y": 1.0} for k in range(40)]
    events = [Event(action, "m", "number", json.dumps(body).encode()) for body in bodies]
    group = [(event, parse(event, Limits())) for event in events]

    found = served.models.apply_group(10, group)
    refused = [isinstance(one, RequestError) for one in found]
    assert refused == ([False, True, True] if action == "ask" else [False] * 24 + [True] * 16)
    assert served.columns() == (17 if action == "ask" else 60)


def mixed_rows(count):
    """Rows with gaps, words and a few of many columns."""
    words = ("red", "green", "blue")
    return [
        {f"n{(7 * k + j) % 40}": 0.1 * j * k for j in range(3)}
        | {"w": words[k % 3], "all": float(k % 5)}
        for k in range(count)
    ]


@pytest.mark.parametrize("kind", ["regression", "classification"])
@pytest.mark.parametrize("width", [1, 40])
def test_parts_of_a_large_table_are_the_same_as_all_of_it(monkeypatch, kind, width):
    """Predictions, intervals, and what is learned, bit by bit; also where no table is kept."""
    told = [float(k % 7) if kind == "regression" else "abc"[k % 3] for k in range(1_200)]

    def played(cells, few):
        monkeypatch.setattr(learning, "MAX_CELLS", cells)
        monkeypatch.setattr(learning, "FEW_COLUMNS", few)
        late, found = LateModel(kind), []
        rows = mixed_rows(1_200) if width > 1 else [{"a": 0.1 * k} for k in range(1_200)]
        for first in range(0, 1_200, 300):
            tickets = late.ask_many(rows[first : first + 300])
            found += tickets
            late.tell_many(tickets[: first // 4 + 30], told[first : first + first // 4 + 30])
        late.tell_many(list(late.pending), [told[int(name) - 1] for name in late.pending])
        last = late.model._model.predict(late.deferred.table(rows[:50])[0], 50)
        return found, late.summary(), np.asarray(last).tolist()

    assert played(2**20, 128) == played(500, 128) == played(500, 0) == played(2**20, 0)


def test_rows_that_wait_are_kept_as_they_are():
    """And not with a number for each column of their series.

    Rows that have most of the columns are kept as a table.
    """
    late = LateModel("regression")
    for k in range(2):
        late.tell(late.ask({f"{j}": float(j) for j in range(300)}), float(k))
    sparse = late.ask_many([{"7": 1.0}] * 50)
    dense = late.ask_many([{f"{j}": 0.5 * k + j for j in range(0, 300, 3)} for k in range(50)])
    blocks = late._pending._blocks
    assert blocks[sparse[0].id].table is None
    assert blocks[dense[0].id].table.shape == (50, 300)
