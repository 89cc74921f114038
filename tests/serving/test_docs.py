"""The page docs/serving.md: its commands run, and its tables are those of the code."""

import json
import re
import shlex
from pathlib import Path

import pytest

from swordplay.cli.serve import LIMITS, serve_command
from swordplay.serving.limits import Limits
from swordplay.serving.messages import ERRORS

PAGE = (Path(__file__).parents[2] / "docs" / "serving.md").read_text(encoding="utf-8")
README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
LINES = [line for block in BLOCKS for line in block.splitlines()]


def test_the_requests_of_the_page_get_its_responses(launcher, tmp_path):
    server = launcher.start("--state", tmp_path / "state")
    client, checked = server.client(), 0
    for line, following in zip(LINES, [*LINES[1:], ""], strict=True):
        if not line.startswith("curl "):
            continue
        words = shlex.split(line)
        method = words[words.index("-X") + 1] if "-X" in words else "POST"
        path = next(word for word in words if word.startswith("http")).removeprefix(
            "http://127.0.0.1:8400"
        )
        status, _, body = client.send(method, path, words[words.index("-d") + 1].encode())
        assert status == 200, (line, body)
        if following.startswith("# {"):
            assert json.loads(body) == json.loads(following[2:]), line
            checked += 1
    assert checked == 3
    client.close()
    server.stop()


@pytest.mark.parametrize("text", [PAGE, README], ids=["serving.md", "README.md"])
def test_commands_have_options_that_exist(text):
    commands = re.findall(r"^swordplay serve ([^#\n]+)", text, re.MULTILINE)
    assert commands
    for command in commands:
        serve_command.make_context("serve", shlex.split(command))


def test_all_errors_are_in_the_page():
    described = set(re.findall(r"^\| (\d{3}) \|", PAGE, re.MULTILINE))
    assert described == {*ERRORS, "405", "500"}


def test_limits_are_those_of_the_code():
    rows = re.findall(r"^\| [^|]+ \| ([^|]+) \| (?:`(--[a-z-]+)`)? ?\|$", PAGE, re.MULTILINE)
    found = {option: value.strip() for value, option in rows if option}
    for name, (option, _, _) in LIMITS.items():
        if name in ("behind", "seconds"):
            continue
        value = getattr(Limits(), name)
        words = {"body": f"{value // 2**20} MB", "log": "none"}.get(name, f"{value:,}")
        assert found.pop(option) == words, option
    assert not found
    assert f"{Limits().behind:,} events (`--checkpoint-every`)" in PAGE
    assert f"{Limits().seconds:g} seconds (`--timeout`)" in PAGE
    for value in (f"{Limits().waiting // 2**20} MB", f"{Limits().connections:,}", "50"):
        assert f"| {value} | |" in PAGE
