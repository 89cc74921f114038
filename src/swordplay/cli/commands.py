"""What can be typed after ``swordplay``. Everything heavy is imported by the command that needs it."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path

import click

from swordplay import __version__
from swordplay.cli import options
from swordplay.reproduce import DEFAULT_ROUNDS, Row, horizons, reproduce

# click keeps the lines of a paragraph that begins with a backspace as they are.
EXAMPLES = """\b
Examples:
  swordplay reproduce --rounds 1000
  swordplay reproduce --rounds 1000 --figure regret.png
  swordplay reproduce --rounds 1000 --json --quiet > regret.json
"""
INTERRUPTED = 130
"""What a shell expects of a process that ended by Ctrl-C: 128 + SIGINT."""


def run(arguments: Sequence[str] | None) -> int:
    """Run a command; its exit code. Errors take a line or two, not a traceback."""
    try:
        code = program.main(arguments, prog_name="swordplay", standalone_mode=False)
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "swordplay"
        click.echo(f"swordplay: {error.format_message()}\nTry '{where} --help'.", err=True)
        return error.exit_code
    except click.ClickException as error:
        click.echo(f"swordplay: {error.format_message()}", err=True)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("swordplay: interrupted.", err=True)
        return INTERRUPTED
    return code if isinstance(code, int) else 0


@click.group(
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 done; 1 failed on the way; 2 could not be started as asked; 130 interrupted.",
)
@click.version_option(__version__, message="swordplay %(version)s")
@click.pass_context
def program(context: click.Context) -> None:
    """Learning from streams whose target drifts."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@program.command("reproduce", epilog=EXAMPLES)
@click.option(
    "--rounds",
    default=str(DEFAULT_ROUNDS),
    callback=options.rounds,
    metavar="N",
    help=f"The largest T; 100, 1000, ... are played on the way.  [default: {DEFAULT_ROUNDS}]",
)
@click.option("--figure", callback=options.figure_path, metavar="PATH", help="Draw regret against T here, as .png or .svg.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
@click.option("--quiet", is_flag=True, help="No progress bar and no remarks, only the result.")
def reproduce_command(rounds: int, figure: Path | None, as_json: bool, quiet: bool) -> None:
    """Replay the paper's experiment: regret beside the bounds.

    Every learner plays both instances of "Dynamic Regret of Convex and Smooth Functions" (NeurIPS 2020), the
    paper's learners once with the paper's own rates and once with rates that tune themselves. The result goes to
    standard output, progress to standard error. NO_COLOR is respected.
    """
    from swordplay.cli import console, tables

    started = time.monotonic()
    with console.progress(quiet) as report:
        rows = reproduce(horizons(rounds), progress=report)
    if as_json:
        click.echo(_json(rows))
    else:
        tables.show(rows)
    if figure is not None:
        from swordplay.report import regret_figure, save

        try:
            save(regret_figure(rows), figure)
        except OSError as error:
            raise click.ClickException(f"could not write {figure}: {error.strerror}.") from error
    if not quiet:
        drawn = f" The figure is in {figure}." if figure is not None else ""
        click.echo(f"Done in {time.monotonic() - started:.0f} s.{drawn}", err=True)


def _json(rows: Sequence[Row]) -> str:
    return json.dumps({"swordplay": __version__, "rows": [row._asdict() for row in rows]}, indent=2, allow_nan=False)
