"""Options that are checked before anything long begins."""

from __future__ import annotations

import csv
import functools
import importlib.util
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from swordplay.cli.words import echo
from swordplay.core import extras

if TYPE_CHECKING:  # with pyarrow and the engine, which --help does without
    from swordplay.tracking import Settings

Command = Callable[..., Any]
"""What click makes a command of."""
MOST_ROUNDS = 10_000_000
"""Beyond this a run takes days: more likely a slip of the keyboard than a wish."""
MOST_LAGS = 1000
AUTO, NONE = "auto", "none"


TARGET = click.option("--target", required=True, metavar="COLUMN", help="The column to predict.")
HINDSIGHT = click.option(
    "--hindsight",
    is_flag=True,
    help="Add the regret against the best models of hindsight to the report. This takes up to 10 "
    "seconds.",
)
MODEL = click.option(
    "--state",
    required=True,
    metavar="PATH",
    help="File of the model. `swordplay learn` writes it, `swordplay predict` reads it.",
)
OUTPUT_FORMAT = click.option(
    "--output-format",
    type=click.Choice(["csv", "ndjson", "parquet"]),
    help="Format of the predictions.  [default: by the ending of --output; for -, the format of "
    "FILE]",
)
ON_BAD = click.option(
    "--on-bad",
    type=click.Choice(["stop", "skip"]),
    help="What to do with a row that cannot be used: stop ends the run, skip leaves the row out "
    "and lists it in OUTPUT.refused.csv (or FILE.refused.csv).  [default: stop; skip if FILE is a "
    "pipe]",
)
LOSS = click.option(
    "--loss",
    type=click.Choice(["squared", "huber"]),
    default="squared",
    help="Loss of a regression; huber for targets with heavy tails.  [default: squared]",
)
LEVEL = click.option(
    "--level",
    type=click.FloatRange(0.0, 1.0, min_open=True, max_open=True),
    metavar="SHARE",
    help="Share of the truths that the prediction intervals of a regression are to contain.  "
    "[default: 0.9]",
)
NO_INTERVAL = click.option("--no-interval", is_flag=True, help="Predict without intervals.")
SAVE_EVERY = click.option(
    "--save-every",
    type=click.IntRange(1),
    metavar="N",
    help="Save the state every N rows.  [default: every 10 seconds]",
)
WAIT = click.option(
    "--wait",
    type=click.FloatRange(0.0),
    metavar="SECONDS",
    help="Wait at most so long while another run uses --state; 0 fails at once.  [default: until "
    "that run ends]",
)
REVERSE = click.option(
    "--reverse",
    is_flag=True,
    help="Read the rows from the last to the first, for tables that begin with the newest row.",
)
SORT = click.option(
    "--sort", metavar="COLUMN", help="Sort the rows by this column, such as their date, first."
)


def order(reverse: bool, sort: str | None) -> Any:
    """Another order of the rows than that of the file."""
    from swordplay.tracking.ordered import Order

    if reverse and sort is not None:
        raise click.UsageError(
            "--reverse and --sort do not go together: --sort puts the oldest row first anyway."
        )
    return Order(reverse, sort)


def rounds(context: click.Context, option: click.Parameter, value: str) -> int:
    """A number of rounds: 1000, or 1e3 as people write it."""
    from swordplay.core import arguments
    from swordplay.theory.reproduce import FEWEST_ROUNDS

    try:
        number = arguments.integer(str(option.name), float(value), least=FEWEST_ROUNDS)
    except (TypeError, ValueError):
        number = MOST_ROUNDS + 1
    if number > MOST_ROUNDS:
        raise click.BadParameter(
            f"must be a whole number from {FEWEST_ROUNDS} to {MOST_ROUNDS}, such as 1000, got "
            f"{value!r}."
        )
    return number


def figure_path(context: click.Context, option: click.Parameter, value: str | None) -> Path | None:
    """Somewhere a figure can be written, which is tried at once: a long run must not end in a
    typing error.
    """
    if value is None:
        return None
    from swordplay.report import SUFFIXES

    path = Path(value)
    if path.suffix.lower() not in SUFFIXES:
        raise click.BadParameter(f"must end in {' or '.join(SUFFIXES)}, got {value!r}.")
    _require_vl_convert()
    try_to_write(path)
    return path


def report_path(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """Somewhere a page can be written."""
    if value is not None:
        if Path(value).suffix.lower() not in (".html", ".htm"):
            raise click.BadParameter(f"must end in .html, got {value!r}.")
        _require_vl_convert()
        try_to_write(Path(value))
    return value


def _require_vl_convert() -> None:
    """Raise a usage error unless the package that draws charts is installed."""
    if importlib.util.find_spec("vl_convert") is None:
        raise click.BadParameter(
            f"needs vl-convert-python. Install it with: {extras.pip_command('cli')}"
        )


def try_to_write(path: Path) -> None:
    """Refuse a path that cannot be written; what is there stays as it is."""
    existed = path.exists()
    try:
        path.open("ab").close()
    except OSError as error:
        raise click.BadParameter(f"cannot write {str(path)!r}: {error.strerror}.") from error
    if not existed:
        path.unlink()


def ids(
    context: click.Context, option: click.Parameter, value: str | None
) -> tuple[str, ...] | None:
    """Names of columns between commas; the word none for no column at all."""
    return () if value == "none" else names(context, option, value)


def types(
    context: click.Context, option: click.Parameter, value: str | None
) -> dict[str, str] | None:
    """What columns are: names and kinds between commas, such as price=number,day=date."""
    if value is None:
        return None
    from swordplay.tables.errors import nearest
    from swordplay.tables.schema import KINDS

    found: dict[str, str] = {}
    for part in names(context, option, value) or ():
        name, equals, kind = part.rpartition("=")
        if not equals or not name.strip():
            raise click.BadParameter(
                f"must be columns and kinds such as price=number,day=date, got {part!r}."
            )
        if kind.strip() not in KINDS:
            raise click.BadParameter(
                f"{part!r}: there is no kind {kind.strip()!r}.{nearest(kind, KINDS)} There are: "
                f"{', '.join(KINDS)}."
            )
        found[name.strip()] = kind.strip()
    return found


def missing(context: click.Context, option: click.Parameter, value: str | None) -> tuple[str, ...]:
    """Texts between commas."""
    return names(context, option, value) or ()


def header(context: click.Context, option: click.Parameter, value: str | None) -> bool | None:
    """Yes or no."""
    return None if value is None else value == "yes"


def lags(context: click.Context, option: click.Parameter, value: Any) -> int | str:
    """A number of lags, or the word auto."""
    if value == AUTO:
        return AUTO
    try:
        number = int(value)
    except ValueError:
        number = -1
    if not 0 <= number <= MOST_LAGS:
        raise click.BadParameter(
            f"must be auto or a whole number from 0 to {MOST_LAGS}, got {value!r}."
        )
    return number


def names(
    context: click.Context | None, option: click.Parameter | None, value: str | None
) -> tuple[str, ...] | None:
    """Names of columns between commas; those that hold a comma stand in quotes."""
    if value is None:
        return None
    found = tuple(name.strip() for name in next(csv.reader([value], skipinitialspace=True), []))
    if not all(found) or not found:
        raise click.BadParameter(
            f"must be names of columns between commas, such as a,b, got {value!r}."
        )
    return found


IDS = click.option(
    "--id",
    "ids",
    callback=ids,
    metavar="A,B",
    help="Columns to copy into the predictions, such as an order number; none for no column.  "
    "[default: the column of dates]",
)
KEY = click.option(
    "--key",
    callback=names,
    metavar="A,B",
    help="Columns that tell several series apart; each of their values gets a model of its own.",
)
SHOW_KEY = click.option(
    "--show-key",
    "show_keys",
    multiple=True,
    metavar="VALUE[,VALUE]",
    help="Show the results of this key as well, given by its values as they stand in the "
    "predictions. Can be repeated.",
)
FORMAT = click.option(
    "--format",
    "format_",
    type=click.Choice(["csv", "ndjson", "parquet"]),
    help="Format of FILE.  [default: detected]",
)
ENCODING = click.option(
    "--encoding",
    default="utf-8",
    metavar="NAME",
    help="Encoding of the text in FILE, such as latin-1.  [default: utf-8]",
)


def locked(state: str | None, wait: float | None, quiet: bool) -> AbstractContextManager[None]:
    """The lock of a state; a long wait is reported on standard error unless ``quiet``."""
    from swordplay.tracking import state_lock

    return state_lock.locked(
        state, wait, (lambda text: None) if quiet else functools.partial(echo, err=True)
    )


def skips(on_bad: str | None, file: str) -> bool:
    """Whether bad rows are left out: as asked, and otherwise if they come from a pipe."""
    from swordplay.tables.source import is_live

    return on_bad == "skip" or (on_bad is None and is_live(file))


def level(typed: Mapping[str, Any]) -> float | None:
    """Of the intervals; None for no intervals."""
    if typed["no_interval"]:
        return None
    return 0.9 if typed["level"] is None else float(typed["level"])


def settings(typed: Mapping[str, Any]) -> Settings:
    """What was said about a table, by what click calls the options."""
    from swordplay.tracking import Settings

    plain = {
        name: typed[name]
        for name in ("target", "task", "features", "loss", "types", "missing", "header")
    }
    more = {"drop": typed["drop"] or (), "key": typed["key"] or (), "id": typed["ids"]}
    return Settings(
        **plain,
        **more,
        level=level(typed),
        **of_model(typed["lags"], typed["curves"]),
    )


def of_model(lags: Any, curves: Any) -> dict[str, Any]:
    """Return the settings of lags and curves; without curves ``auto`` means no lags."""
    curves = None if curves == NONE else curves
    return {"lags": 0 if lags == AUTO and curves is None else lags, "curves": curves}


def told(known: Settings) -> dict[str, Any]:
    """The way back: what options would have to say so that these are the settings."""
    return {**known._asdict(), "ids": known.id, "no_interval": known.level is None}


def of_learning(command: Command) -> Command:
    """Options that say what is learned and from which columns: --task, --lags, --curves,
    --features, --drop.
    """
    tasks = click.Choice(["regression", "binary", "multi-class"])
    return _each(
        command,
        click.option("--task", type=tasks, help="Kind of the target.  [default: detected]"),
        click.option(
            "--lags",
            callback=lags,
            default=AUTO,
            metavar="K",
            help="Use the last K targets as columns; auto learns whether they help.  [default: "
            "auto]",
        ),
        click.option(
            "--curves",
            type=click.Choice([AUTO, "rich", NONE]),
            default=AUTO,
            help="auto adds second-order experts with curves of the columns to the linear model, "
            "rich more of them (slower), none none.  [default: auto]",
        ),
        click.option(
            "--features",
            callback=names,
            metavar="A,B",
            help="Use only these columns.  [default: all]",
        ),
        click.option("--drop", callback=names, metavar="A,B", help="Columns to leave out."),
    )


def of_reading(command: Command) -> Command:
    """Options that say how FILE is to be read: --types, --missing, --header, --format,
    --encoding.
    """
    yes_or_no = click.Choice(["yes", "no"])
    return _each(
        command,
        click.option(
            "--types",
            callback=types,
            metavar="A=KIND,B=KIND",
            help="What columns hold, such as price=number,day=date, where detection is wrong.",
        ),
        click.option(
            "--missing",
            callback=missing,
            metavar="A,B",
            help="Further texts that mean a missing value, such as none,n.d.",
        ),
        click.option(
            "--header",
            callback=header,
            type=yes_or_no,
            help="Whether the first line of a CSV file has the column names.  [default: detected]",
        ),
        FORMAT,
        ENCODING,
    )


def of_rounds(default: int, what: str) -> Callable[[Command], Command]:
    """The option --rounds of the paper's experiment; ``what`` says what they are."""
    about = f"{what}  [default: {default}]"
    return click.option("--rounds", default=str(default), callback=rounds, metavar="N", help=about)


def _each(command: Command, *decorators: Callable[[Command], Command]) -> Command:
    """A command with several options, which stand in its help in this order."""
    for decorate in reversed(decorators):
        command = decorate(command)
    return command
