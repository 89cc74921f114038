"""The folder of a server, damaged in every way: refused in words or repaired, and never in
silence.
"""

import json
import logging
import shutil
from pathlib import Path

import pytest

from swordplay.core import checkpoint
from swordplay.serving import event_log
from swordplay.serving.errors import RequestError
from swordplay.serving.limits import Limits
from swordplay.serving.log_format import Event, EventGroup, list_segments, read_groups
from swordplay.serving.requests import parse
from swordplay.serving.storage import Storage, StorageError

LIMITS = Limits()
SAVES = (20, 40)
"""Events after which there is a checkpoint."""
EVENTS, OLDER = 60, 30


def event(k):
    """Asks and their answers in turns; every tenth event is refused."""
    if k % 10 == 9:
        return Event("tell", "default", "number", b'{"id": "unknown", "y": 1.0}')
    name, value = f"{k // 2}", float(k // 2 % 7)
    if k % 2 == 0:
        return Event(
            "ask", "default", "number", json.dumps({"id": name, "x": {"a": value}}).encode()
        )
    return Event("tell", "default", "number", json.dumps({"id": name, "y": 2.0 * value}).encode())


def perform(storage, events):
    """Write a group of events and do what it wants; the answers."""
    storage.log.append(events)
    return storage.apply_group(
        storage.log.last - len(events) + 1, [(one, parse(one, LIMITS)) for one in events]
    )


def save(storage):
    superfluous = storage.save(storage.snapshot())
    if superfluous is not None:
        storage.log.forget(superfluous)


def play(folder, last, saves=SAVES):
    """A server that was killed after so many events: its models, and copies of its folder along
    the way.
    """
    storage, k, states = Storage(str(folder), LIMITS), 0, {}
    while storage.log.last < last:
        count = min(
            1 + k % 3,
            last - storage.log.last,
            *(save - storage.log.last for save in saves if save > storage.log.last),
        )
        perform(storage, [event(k + j) for j in range(count)])
        k += count
        if storage.log.last in saves:
            save(storage)
        states[storage.log.last] = dumped(storage)
        shutil.copytree(folder, Path(f"{folder}-{storage.log.last}"))
    storage.close()
    return states


def dumped(storage):
    return checkpoint.dumps(storage.models.state(), kind="serve")


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    folder = tmp_path_factory.mktemp("played") / "state"
    return folder, play(folder, EVENTS)


@pytest.fixture
def copy(played, tmp_path):
    shutil.copytree(played[0], tmp_path / "state")
    return tmp_path / "state"


def start(folder, **options):
    """The models of a folder, as bytes, and how many events were replayed."""
    storage = Storage(str(folder), LIMITS, **options)
    found = dumped(storage), storage.replayed
    storage.close()
    return found


def newest(folder, pattern="events-*.log"):
    return max(folder.glob(pattern))


def flip(path, place, bit=0):
    data = bytearray(path.read_bytes())
    data[place] ^= 1 << bit
    path.write_bytes(data)


def groups(path):
    return list(read_groups(str(path), b"not there at all"))


def without(path, *unwanted):
    """Rewrite a segment without some of its groups."""
    data = path.read_bytes()
    path.write_bytes(
        b"".join(
            data[one.offset : one.end] for k, one in enumerate(groups(path)) if k not in unwanted
        )
    )


def swap(path):
    data, found = path.read_bytes(), groups(path)
    parts = [data[one.offset : one.end] for one in found]
    parts[1], parts[2] = parts[2], parts[1]
    path.write_bytes(b"".join(parts))


def replace(path, old, new):
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new))


REFUSED = {
    "a bit of a body": (
        lambda f, p: flip(newest(f), groups(newest(f))[2].end - 40),
        "damaged: bytes",
    ),
    "a bit of the first group": (lambda f, p: flip(min(f.glob("events-*.log")), 30), "damaged"),
    "a bit of the newest group": (
        lambda f, p: flip(newest(f), -50),
        "event 60, the newest that was acknowledged, is missing",
    ),
    "a bit of a length": (
        lambda f, p: flip(newest(f), groups(newest(f))[1].offset + 60, 6),
        "damaged: bytes",
    ),
    "a digit that stays JSON": (
        lambda f, p: replace(newest(f), b'"y": 4.0', b'"y": 9.0'),
        "damaged: bytes",
    ),
    "an event that is no JSON": (
        lambda f, p: replace(newest(f), b'{"id": "24"', b'["id": "24"'),
        "damaged: bytes",
    ),
    "a group is missing": (lambda f, p: without(newest(f), 2), "where event 44 is expected"),
    "the newest group is missing": (
        lambda f, p: without(newest(f), -1 + len(groups(newest(f)))),
        "is missing",
    ),
    "two groups changed places": (lambda f, p: swap(newest(f)), "is expected"),
    "the newest segment is missing": (lambda f, p: newest(f).unlink(), "is missing"),
    "the oldest segment is missing": (
        lambda f, p: min(f.glob("events-*.log")).unlink(),
        "begins with event 41, and events 21 to 40 are missing",
    ),
    "all segments are missing": (
        lambda f, p: [one.unlink() for one in f.glob("events-*.log")],
        "is missing",
    ),
    "the newest segment is empty": (lambda f, p: newest(f).write_bytes(b""), "is missing"),
    "the oldest segment is empty": (
        lambda f, p: min(f.glob("events-*.log")).write_bytes(b""),
        "is empty",
    ),
    "zeros at the end": (
        lambda f, p: newest(f).write_bytes(newest(f).read_bytes()[:-500] + bytes(500)),
        "is missing",
    ),
    "a segment has another name": (
        lambda f, p: newest(f).rename(f / "events-0000000000000099.log"),
        "in its name",
    ),
    "no high-water mark": (lambda f, p: (f / "high-water").unlink(), "is missing"),
    "an empty high-water mark": (lambda f, p: (f / "high-water").write_bytes(b""), "is damaged"),
    "both slots damaged": (
        lambda f, p: [flip(f / "high-water", place) for place in (40, 4136)],
        "is damaged",
    ),
    "no high-water mark and no log": (
        lambda f, p: [one.unlink() for one in [*f.glob("events-*.log"), f / "high-water"]],
        "is missing",
    ),
    "no checkpoint": (
        lambda f, p: [one.unlink() for one in f.glob("models-*")],
        "events 1 to 20 are missing",
    ),
    "empty checkpoints": (
        lambda f, p: [one.write_bytes(b"") for one in f.glob("models-*")],
        "checkpoint",
    ),
    "an older copy of the log": (lambda f, p: older(f, p, "events-*.log"), "is missing"),
    "an older copy of log and mark": (
        lambda f, p: (older(f, p, "events-*.log"), older(f, p, "high-water")),
        "older copy",
    ),
    "an older mark of another time": (
        lambda f, p: foreign(f, p, "high-water"),
        "of another server",
    ),
    "the log of another server": (lambda f, p: foreign(f, p, "events-*.log"), "of another server"),
    "a checkpoint of another server": (lambda f, p: foreign(f, p, "models-*"), "of another server"),
}


def older(folder, played, pattern):
    for path in folder.glob(pattern):
        path.unlink()
    number = max(
        int(path.name[6:]) for path in played.parent.glob("state-*") if int(path.name[6:]) <= OLDER
    )
    for path in Path(f"{played}-{number}").glob(pattern):
        shutil.copy(path, folder)


def foreign(folder, played, pattern):
    """Files of another server that saw the same."""
    other = folder.parent / "other"
    if not other.exists():
        play(other, EVENTS)
    for path in folder.glob(pattern):
        path.unlink()
    for path in other.glob(pattern):
        shutil.copy(path, folder)


def content(folder):
    return {
        path.name: path.read_bytes()
        for path in folder.iterdir()
        if path.name not in ("lock", "replaying")
    }


@pytest.mark.parametrize("kind", REFUSED)
def test_damage_is_refused_in_words_and_changes_nothing(copy, played, kind):
    damage, words = REFUSED[kind]
    damage(copy, played[0])
    before = content(copy)
    with pytest.raises(StorageError, match=words) as error:
        start(copy)
    assert "--repair" in str(error.value) or "empty checkpoints" in kind
    assert content(copy) == before


def test_what_is_intact_is_said(copy):
    flip(newest(copy), groups(newest(copy))[2].end - 40)
    with pytest.raises(
        StorageError,
        match=r"Intact are the events 21 to 43 and 46 to 60\. .* acknowledged is event 60",
    ):
        start(copy)


def test_nothing_of_the_log_can_be_flipped_in_silence(copy, played):
    """Every 29th byte of the newest segment and all of the high-water mark that is used."""
    path, mark = newest(copy), copy / "high-water"
    for place in range(0, path.stat().st_size, 29):
        flip(path, place)
        with pytest.raises(StorageError, match="damaged"):
            start(copy)
        flip(path, place)
    for place in range(0, 88, 7):
        before = mark.read_bytes()
        for slot in (0, 4096):
            flip(mark, slot + place)
        with pytest.raises(StorageError, match="is damaged"):
            start(copy)
        mark.write_bytes(before)
    assert start(copy) == (played[1][EVENTS], 20)


@pytest.mark.parametrize("acknowledged", [True, False])
def test_a_log_that_is_cut_anywhere(copy, played, tmp_path, acknowledged):
    """Behind the high-water mark it is the torn write of a killed process, before it is damage."""
    path = newest(copy)
    data, last = path.read_bytes(), groups(path)[-1]
    if not acknowledged:
        shutil.copy(Path(f"{played[0]}-{last.first - 1}") / "high-water", copy)
    for place in range(last.offset, len(data)):
        path.write_bytes(data[:place])
        if acknowledged:
            with pytest.raises(StorageError, match="is missing"):
                start(copy)
        elif place % 13 == 0 or place == last.offset:
            shutil.copytree(copy, tmp_path / "cut")
            assert start(tmp_path / "cut")[0] == played[1][last.first - 1]
            assert start(tmp_path / "cut")[0] == played[1][last.first - 1]
            shutil.rmtree(tmp_path / "cut")


def test_a_group_that_was_written_and_not_noted_is_there(copy, played):
    """The process was killed between the two: no client was told, and the event may stay."""
    last = groups(newest(copy))[-1]
    shutil.copy(Path(f"{played[0]}-{last.first - 1}") / "high-water", copy)
    assert start(copy) == (played[1][EVENTS], 20)


def test_one_damaged_note_is_said_and_made_up_for_by_the_other(copy, played, caplog):
    for place in (40, 4136):
        before = (copy / "high-water").read_bytes()
        flip(copy / "high-water", place)
        assert start(copy) == (played[1][EVENTS], 20)
        assert "one of the two slots" in caplog.text
        (copy / "high-water").write_bytes(before)


@pytest.mark.parametrize(
    "damage",
    [lambda path: path.unlink(), lambda path: path.write_bytes(b""), lambda path: flip(path, -9)],
)
def test_without_the_newest_checkpoint_the_one_before_and_the_log_lead_to_the_same(
    copy, played, damage
):
    damage(newest(copy, "models-*.state"))
    assert start(copy) == (played[1][EVENTS], 40)


REPAIRED = {
    "no high-water mark": (60, "no known event is lost"),
    "an older mark of another time": (60, "no known event is lost"),
    "a bit of the newest group": (58, "events 59 to 60 are lost"),
    "a bit of a body": (43, "events 44 to 60 are lost"),
    "a bit of the first group": (60, "no known event is lost"),
    "the oldest segment is missing": (60, "no known event is lost"),
    "the newest segment is missing": (40, "events 41 to 60 are lost"),
    "all segments are missing": (40, "events 41 to 60 are lost"),
    "no high-water mark and no log": (40, "no known event is lost"),
    "an older copy of log and mark": (40, "no known event is lost"),
}


@pytest.mark.parametrize("kind", REPAIRED)
def test_a_repair_goes_on_with_what_is_intact_and_says_what_is_lost(copy, played, kind, caplog):
    REFUSED[kind][0](copy, played[0])
    before, (last, words) = content(copy), REPAIRED[kind]
    assert start(copy, may_repair=True)[0] == played[1][last]
    assert words in caplog.text
    aside = content(copy / "damaged-1")
    assert aside == {name: data for name, data in before.items() if name in aside}
    assert start(copy)[0] == played[1][last]  # from now on nothing is wrong with it
    storage = Storage(str(copy), LIMITS)
    perform(storage, [event(k) for k in range(200, 204)])
    state = dumped(storage)
    storage.close()
    assert start(copy, may_repair=True)[0] == state
    assert not (copy / "damaged-2").exists()


def test_a_repair_leaves_what_is_another_servers_aside(copy, played, tmp_path):
    foreign(copy, played[0], "models-*")
    with pytest.raises(StorageError, match="neither a checkpoint nor the beginning"):
        start(copy, may_repair=True)
    for path in played[0].glob("models-*20.state"):
        shutil.copy(path, copy)
    shutil.copy(newest(tmp_path / "other", "models-*40.state"), copy)
    assert start(copy, may_repair=True)[0] == played[1][EVENTS]
    assert [path.name for path in (copy / "damaged-1").glob("models-*")] == [
        "models-0000000000000040.state"
    ]


def test_refused_events_are_recorded(played):
    found = [
        number
        for path in list_segments(played[0])
        for group in groups(path)
        for number in group.header.refused
    ]
    assert found == [number for number in range(20, EVENTS) if number % 10 == 0]
    assert all(
        isinstance(group, EventGroup) for path in list_segments(played[0]) for group in groups(path)
    )


@pytest.mark.parametrize(
    ("refuse", "words"),
    [
        (
            lambda number, event: event.body.startswith(b'{"id": "24"'),
            r"event 49 \(ask .* was accepted .* is rejected now",
        ),
        (
            lambda number, event: False,
            "event 50 .* was rejected when it was new and is accepted now",
        ),
    ],
)
def test_an_event_that_ends_in_another_way_than_when_it_came_is_refused(
    copy, monkeypatch, refuse, words
):
    def performed(models, number, event, wanted):
        if refuse(number, event):
            raise RequestError(400, "not today")
        return b"{}"

    with monkeypatch.context() as patched:
        patched.setattr("swordplay.serving.models.Models.apply", performed)
        with pytest.raises(StorageError, match=words) as error:
            start(copy)
    number = str(error.value).split("--skip-event ")[1]
    assert number in ("49", "50")


def test_segments_follow_each_other_and_old_ones_go(tmp_path, monkeypatch):
    monkeypatch.setattr(event_log, "SEGMENT_BYTES", 2_000)
    states = play(tmp_path / "state", EVENTS)
    assert 3 < len(list_segments(tmp_path / "state")) < 12
    assert min(list_segments(tmp_path / "state").values()) in range(15, 22)
    assert start(tmp_path / "state")[0] == states[EVENTS]


def test_what_was_left_out_stays_left_out(copy, played, caplog):
    storage = Storage(str(copy), LIMITS, skip=[47, 12])
    assert "event 12 is in the checkpoint" in caplog.text
    assert "event 47 is left out" in caplog.text
    perform(storage, [event(k) for k in range(200, 204)])
    state = dumped(storage)
    storage.close()
    assert state != played[1][EVENTS]
    assert start(copy) == (state, 24)
    assert start(copy, skip=[47])[0] == state
    with pytest.raises(StorageError, match=r"no event 99 to skip: the newest is event 64"):
        start(copy, skip=[99])


@pytest.fixture(autouse=True)
def _logged(caplog):
    caplog.set_level(logging.INFO, "swordplay.serve")


def test_a_checkpoint_of_another_history_of_the_same_server_is_refused(copy, played):
    """A copy of the folder was served from for a while, and one of its checkpoints came back."""
    number = max(
        int(path.name[6:])
        for path in played[0].parent.glob("state-*")
        if int(path.name[6:]) < SAVES[1]
    )
    other = copy.parent / "other"
    shutil.copytree(f"{played[0]}-{number}", other)
    storage = Storage(str(other), LIMITS)
    perform(storage, [event(k) for k in range(200, 200 + SAVES[1] - number)])
    save(storage)
    storage.close()
    shutil.copy(newest(other, "models-*.state"), copy)
    with pytest.raises(
        StorageError, match="after event 40 was made from other events than those of the log"
    ):
        start(copy)


def test_a_new_segment_does_not_overwrite_one_that_holds_no_events_yet(tmp_path, monkeypatch):
    monkeypatch.setattr(event_log, "SEGMENT_BYTES", 1)
    storage = Storage(str(tmp_path), LIMITS)
    for k in range(0, 6, 2):
        perform(storage, [event(k)])
    storage.log.skip(3)
    perform(storage, [event(6)])
    storage.close()
    storage = Storage(str(tmp_path), LIMITS)
    assert storage.log.skipped == {3}
    assert list(storage.models.series["default", ""].pending) == ["0", "1", "3"]
    storage.close()


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("high-water", "the newest that was acknowledged, is missing or was replaced"),
        ("events-*21.log", "does not follow"),
    ],
)
def test_files_of_another_history_of_the_same_server_are_refused(copy, played, pattern, words):
    """All numbers fit, and only the digests tell that the events are not the same."""
    number = max(
        int(path.name[6:])
        for path in played[0].parent.glob("state-*")
        if int(path.name[6:]) < SAVES[1]
    )
    other = copy.parent / "other"
    shutil.copytree(f"{played[0]}-{number}", other)
    storage = Storage(str(other), LIMITS)
    for first, last in ((number, SAVES[1]), (SAVES[1], EVENTS)):
        perform(storage, [event(200 + k) for k in range(first, last)])
        if last == SAVES[1]:
            save(storage)
    storage.close()
    start(other)
    for path in copy.glob(pattern):
        shutil.copy(path, other)
    with pytest.raises(StorageError, match=words):
        start(other)
