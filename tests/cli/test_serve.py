"""``swordplay serve`` before it serves: what it refuses, and in which words."""

import socket

import pytest

pytest.importorskip("uvicorn")

from swordplay.cli import run, serve
from swordplay.cli.commands import program
from swordplay.serving.limits import Limits
from swordplay.serving.messages import KINDS


def refused(capsys, *arguments):
    assert run(["serve", *map(str, arguments)]) == 2
    return capsys.readouterr().err


def test_other_machines_need_a_token(capsys, tmp_path, monkeypatch):
    monkeypatch.delenv(serve.VARIABLE, raising=False)
    for host in ("0.0.0.0", "::", "192.0.2.1"):
        assert "needs a token" in refused(capsys, "--state", tmp_path / "s", "--host", host)
    assert not (tmp_path / "s").exists()


def test_tokens_that_keep_nobody_out(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv(serve.VARIABLE, "short")
    assert "at least 8" in refused(capsys, "--state", tmp_path / "s")
    file = tmp_path / "token"
    for text in ("", "with a blank in it", "ünglaublich"):
        file.write_text(text)
        assert "at least 8" in refused(capsys, "--state", tmp_path / "s", "--token-file", file)
    assert "cannot be read" in refused(
        capsys, "--state", tmp_path / "s", "--token-file", tmp_path / "none"
    )


def test_a_port_that_is_taken(capsys, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"cannot listen at 127.0.0.1 port {port}" in refused(
            capsys, "--state", tmp_path / "s", "--port", port
        )
    assert "there is no address" in refused(
        capsys,
        "--state",
        tmp_path / "s",
        "--host",
        "localhost.invalid",
        "--token-file",
        _token(tmp_path),
    )


def _token(folder):
    (folder / "token").write_text("a-long-enough-token\n")
    return folder / "token"


def test_a_folder_that_is_none(capsys, tmp_path):
    (tmp_path / "file").write_text("")
    assert "cannot be served from" in refused(capsys, "--state", tmp_path / "file", "--port", 0)


def test_the_options_are_the_limits():
    assert serve.LIMITS.keys() <= set(Limits._fields)
    assert serve.KINDS == KINDS
    command = program.get_command(None, "serve")
    assert {option for option, _, _ in serve.LIMITS.values()} <= {
        name for one in command.params for name in one.opts
    }
