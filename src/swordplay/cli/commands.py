"""What can be typed after ``swordplay``.

Every command lives in a module of its own, imported when it is called.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import click

from swordplay import __version__
from swordplay.cli.words import echo

INTERRUPTED = 130
"""What a shell expects of a process that ended by Ctrl-C: 128 + SIGINT."""

OUT_OF_MEMORY = (
    "there is not enough memory for this. Allow the process more of it (see ulimit -v and the "
    "limits of the container), or give it less at once: fewer columns (--drop), and no --sort or "
    "--reverse, which hold the whole table. States are as they were last saved."
)


class CommandEntry(NamedTuple):
    """A command: where it is, and what it does in a few words, told without importing it."""

    module: str
    name: str
    help: str


COMMANDS = {
    "track": CommandEntry(
        "swordplay.cli.track",
        "track_command",
        "Predict each row of a table before learning from it.",
    ),
    "learn": CommandEntry(
        "swordplay.cli.learn",
        "learn_command",
        "Learn the rows of a table and save the model.",
    ),
    "predict": CommandEntry(
        "swordplay.cli.predict",
        "predict_command",
        "Predict the rows of a table with a saved model.",
    ),
    "compare": CommandEntry(
        "swordplay.cli.compare",
        "compare_command",
        "Compare swordplay with baselines and other learners.",
    ),
    "serve": CommandEntry(
        "swordplay.cli.serve",
        "serve_command",
        "Serve models over HTTP, with answers that come later.",
    ),
    "sample": CommandEntry(
        "swordplay.cli.sample",
        "sample_command",
        "Write a sample table to try the command on.",
    ),
    "demo": CommandEntry(
        "swordplay.cli.demo",
        "demo_command",
        "Run track, compare and reproduce on a sample stream.",
    ),
    "inspect": CommandEntry(
        "swordplay.cli.inspection", "inspect_command", "Describe a checkpoint."
    ),
    "reproduce": CommandEntry(
        "swordplay.cli.reproduction",
        "reproduce_command",
        "Repeat the experiment of the paper.",
    ),
    "warm": CommandEntry(
        "swordplay.cli.warm",
        "warm_command",
        "Compile all kernels before their first use.",
    ),
    "completion": CommandEntry(
        "swordplay.cli.completion",
        "completion_command",
        "Print a script for completion in the shell.",
    ),
}


class Commands(click.Group):
    """A group that imports a command when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, the most useful first."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command by its name."""
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        command: Any = getattr(importlib.import_module(entry.module), entry.name)
        return command if isinstance(command, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list in the help, without importing anything."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in COMMANDS.items()])


def run(arguments: Sequence[str] | None) -> int:
    """Run a command; its exit code. Errors take a line or two, not a traceback."""
    try:
        alone = (
            arguments is None
        )  # whether the process is the command's own, which has its arguments then
        code = program.main(arguments, prog_name="swordplay", standalone_mode=False, obj=alone)
        if sys.stdout is not None:  # as it is if it was closed (>&-)
            sys.stdout.flush()
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "swordplay"
        echo(f"swordplay: {error.format_message()}\nTry '{where} --help'.", err=True)
        return error.exit_code
    except click.ClickException as error:
        echo(f"swordplay: {error.format_message()}", err=True)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("swordplay: interrupted.", err=True)
        return INTERRUPTED
    except MemoryError:
        return _out_of_memory()
    except ImportError as error:
        if "failed to map segment" not in str(
            error
        ):  # as the loader says when a library does not fit
            raise
        return _out_of_memory()
    except OSError as error:
        return _out_of_memory() if error.errno == errno.ENOMEM else _unwritten(error)
    except RuntimeError as error:
        if "can't start new thread" not in str(
            error
        ):  # as Python says when there is no memory for its stack
            raise
        return _out_of_memory()
    return code if isinstance(code, int) else 0


def _out_of_memory() -> int:
    """Say that the memory does not suffice."""
    echo(f"swordplay: {OUT_OF_MEMORY}", err=True)
    return 1


def _unwritten(error: OSError) -> int:
    """Say that the result could not be written, unless whoever was reading has gone.

    What is left of it goes nowhere.
    """
    if not isinstance(error, BrokenPipeError):
        what = error.filename or "the result cannot be written"
        echo(f"swordplay: {what}: {error.strerror or error}.", err=True)
    with contextlib.suppress(
        AttributeError, OSError
    ):  # or the interpreter would try again on its way out
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 done; 1 failed on the way; 2 could not be started as asked; 130 or 143 "
    "interrupted.",
)
@click.version_option(__version__, message="swordplay %(version)s")
@click.pass_context
def program(context: click.Context) -> None:
    """Learning from streams whose target drifts."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
