"""Odd objects at every public argument: taken, or refused in words with nothing changed.

A raw error of numpy, pandas, pyarrow or Python names neither the argument nor the value.
``odd_objects.py`` holds the values and the calls; the calls of one public name are one test.
"""

from collections import defaultdict

import pytest

from odd_objects import ODD, doors, state_of, why_raw

BY_NAME = defaultdict(list)
for _name, _door in doors():
    BY_NAME[_name.partition("(")[0].removesuffix(".fresh")].append((_name, _door))


@pytest.mark.parametrize("public", BY_NAME)
@pytest.mark.filterwarnings("ignore")  # of numpy and scikit-learn, on the way to a refusal
def test_odd_objects_are_taken_or_refused_in_words(public, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some values are paths of files that are written
    raw = []
    for name, door in BY_NAME[public]:
        for what, value in ODD.items():
            model, before, call, *own = door(value)
            state = own[0] if own else state_of
            try:
                call()
            except Exception as error:
                if why := why_raw(error):
                    raw.append(f"{name}, {what}: {why}")
                if before is not None and state(model) != before:
                    raw.append(f"{name}, {what}: the state has changed")
    assert not raw, "\n".join([f"{len(raw)} calls:", *raw[:40]])


def test_there_are_many_calls():
    assert sum(map(len, BY_NAME.values())) * len(ODD) > 10_000
