"""Every example runs as a stranger would run it, and its answer is the one that its first lines
promise.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
LONGEST = 300
"""Seconds until an example counts as hanging.

Most of it is for a first compilation on a busy machine.
"""

CLOSE = 1.5
"""Sword's regret against that of the best single step in hindsight: what the example calls
close.
"""
DEARLY = 3.0
"""How much more the best step of one world costs in the other, at the least."""
NOISE = 0.010
"""Mean squared error of the row-by-row example that no learner can avoid: its noise has a
deviation of 0.1.
"""


def printed(name, tmp_path):
    """What an example prints, run in a process of its own, from elsewhere, with warnings as
    errors.
    """
    script = [sys.executable, "-W", "error", str(EXAMPLES / f"{name}.py")]
    done = subprocess.run(
        script, cwd=tmp_path, capture_output=True, text=True, timeout=LONGEST, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert list(tmp_path.iterdir()) == []
    return done.stdout


def numbers(line):
    return [float(number) for number in re.findall(r"-?\d+\.?\d*", line)]


def test_every_example_is_checked_here():
    checked = {
        name.removeprefix("test_").removesuffix("_says_so")
        for name in globals()
        if name.endswith("_says_so")
    }
    assert checked == {path.stem for path in EXAMPLES.glob("*.py")}


def test_track_a_drifting_target_says_so(tmp_path):
    lines = printed("track_a_drifting_target", tmp_path).splitlines()
    single = [numbers(line)[1:] for line in lines if line.startswith("OGD")]
    (sword,) = (numbers(line) for line in lines if line.startswith("Sword"))
    assert len(single) > 5
    restless, calm = zip(*single, strict=True)
    assert sword[0] <= CLOSE * min(restless)
    assert sword[1] <= CLOSE * min(calm)
    # The best step is not one of the ends of the list in the calm world, and is wrong for the other
    # world, both ways.
    assert min(calm) < min(calm[0], calm[-1])
    assert calm[restless.index(min(restless))] >= DEARLY * min(calm)
    assert restless[calm.index(min(calm))] >= DEARLY * min(restless)
    answers = [numbers(line) for line in lines if line.startswith("In the")]
    assert [answer[1] for answer in answers] == pytest.approx(
        [min(restless), min(calm)], abs=0.6
    )  # printed without decimals
    assert [answer[-1] for answer in answers] == pytest.approx(
        sword, abs=0.6
    )  # printed without decimals


def test_one_row_at_a_time_says_so(tmp_path):
    text = printed("one_row_at_a_time", tmp_path)
    errors = {
        tuple(numbers(line)[:2]): numbers(line)[2]
        for line in text.splitlines()
        if line.startswith("  rows")
    }
    start, settled, jump, over_it = errors.values()
    assert jump > 10 * settled  # the jump is seen,
    assert over_it < jump / 10  # and got over
    assert NOISE / 2 < over_it < 2 * NOISE
    assert start > settled
    assert "has seen 4000 rows" in text  # also those that it learned before its state was handed on
    decision = numbers(text.splitlines()[-1].partition("[")[2])
    assert decision == pytest.approx([-0.6, 0.9, 0.0, 0.4], abs=0.1)


def test_what_the_certificate_says_says_so(tmp_path):
    lines = printed("what_the_certificate_says", tmp_path).splitlines()
    lost = float(re.search(r"lost (\S+)\.$", lines[0]).group(1))
    table = [row for row in map(numbers, lines[3:]) if len(row) == 5]
    assert [row[0] for row in table] == [2000, 1000, 500, 250, 50, 10, 1]
    for _, _, loses, regret, certified in table:
        assert regret <= certified
        assert regret == pytest.approx(lost - loses, abs=0.2)  # three numbers of one decimal
    _, travels, loses, regret, certified = zip(*table, strict=True)
    assert list(loses) == sorted(loses, reverse=True)  # who may move more often fits better,
    assert list(regret) == sorted(regret)
    assert list(travels) == sorted(travels)  # and travels farther,
    assert list(certified) == sorted(certified)  # which the certificate grows with
    assert min(regret) < 0 < max(regret)


def test_bikesharing_in_a_pipeline_says_so(tmp_path):
    lines = printed("bikesharing_in_a_pipeline", tmp_path).splitlines()
    errors = [numbers(line)[-1] for line in lines[1:5]]
    assert [line.split()[0] for line in lines[1:5]] == ["no", "a", "ridge,", "Sword,"]
    assert errors[3] < 0.8 * min(errors[:3])
    assert (
        lines[6] == "SwordRegressor after 78,253 rows of 17 columns"
    )  # the stream's 12, the clock of weekends, and a lag


def test_combine_forecasts_says_so(tmp_path):
    *single, fixed, sword = printed("combine_forecasts", tmp_path).splitlines()
    errors = [numbers(line)[0] for line in single]
    assert len(errors) == 3
    assert numbers(sword)[0] < 0.9 * numbers(fixed)[0] < 0.9 * min(errors)
    for line in (fixed, sword):
        assert sum(numbers(line)[1:4]) == pytest.approx(
            1.0, abs=0.015
        )  # three weights of two decimals


def test_electricity_with_river_says_so(tmp_path):
    text = printed("electricity_with_river", tmp_path)
    scores = {
        line.split(" accuracy")[0].strip(): numbers(line)[-2:]
        for line in text.splitlines()
        if " log loss " in line
    }
    sword = scores.pop("SwordClassifier")
    assert len(scores) == 3
    assert all(
        sword[0] > other[0] for other in scores.values()
    )  # more often right than the others,
    assert all(sword[1] < other[1] for other in scores.values())  # and better calibrated
    assert "the same to the last bit" in text


def test_intervals_around_any_forecaster_says_so(tmp_path):
    *stretches, worst = printed("intervals_around_any_forecaster", tmp_path).splitlines()
    shares, widths = zip(*(numbers(line) for line in stretches), strict=True)
    assert shares == pytest.approx([90.0] * 3, abs=2.0)  # however unsure the world is
    assert widths[1] > 3.0 * max(widths[0], widths[2])
    assert numbers(worst)[1] <= 0.04


@pytest.mark.deep
def test_serve_electricity_leaves_no_server_behind_if_nobody_reads(tmp_path):
    script = [
        sys.executable,
        str(EXAMPLES / "serve_electricity.py"),
        "--port",
        "0",
        "--tick",
        "0.01",
    ]
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        script,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        address = process.stdout.readline().split("http://")[1].split()[0]
        assert "price-up predicts yes-no" in process.stdout.readline()
        process.stdout.close()
        process.send_signal(signal.SIGTERM)
        assert "BrokenPipeError" in process.stderr.read()
        assert process.wait(LONGEST) != 0
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(f"http://{address}/health")


def test_serve_electricity_says_so(tmp_path):
    script = [
        sys.executable,
        "-W",
        "error",
        str(EXAMPLES / "serve_electricity.py"),
        "--port",
        "0",
        "--tick",
        "0.002",
    ]
    script = [
        "sh",
        "-c",
        'trap "" INT; exec "$@"',
        "sh",
        *script,
    ]  # as if started in the background, where Ctrl-C is ignored
    pipe = subprocess.PIPE
    with subprocess.Popen(script, cwd=tmp_path, stdout=pipe, stderr=pipe, text=True) as process:
        address = process.stdout.readline().split("http://")[1].split()[0]
        assert "price-up predicts yes-no" in process.stdout.readline()
        told = 0
        while told < 150:
            with urllib.request.urlopen(f"http://{address}/models/price-up") as answer:
                told = json.load(answer)["tells"]
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)  # Ctrl-C
        said, complaints = process.communicate(timeout=LONGEST)
    assert (process.returncode, complaints) == (0, "")
    stopping, figures, stopped = said.splitlines()
    assert (stopping, stopped) == ("Stopping.", "Everything has stopped.")
    rows, pending, right = numbers(figures)
    assert rows >= 150
    assert pending < 150
    assert right > 55.0  # prices that rise often go on rising
    assert list(tmp_path.iterdir()) == []
