"""``swordplay sample``: a real table as a file, to try the other commands on."""

from __future__ import annotations

import os

import click

# click keeps the lines of a paragraph that begins with a backspace as they are.
EXAMPLES = """\b
Examples:
  swordplay sample bikes
  swordplay sample electricity -o prices.csv
"""
NAMES = ("bikes", "electricity", "sulfur")
"""Keys of ``datasets.samples.SAMPLES``, told without importing it."""


@click.command("sample", epilog=EXAMPLES)
@click.argument("name", type=click.Choice(NAMES), default=NAMES[0])
@click.option(
    "-o", "--output", metavar="PATH", help="Write the table to this file.  [default: NAME.csv]"
)
@click.option("--force", is_flag=True, help="Replace an existing file.")
def sample_command(name: str, output: str | None, force: bool) -> None:
    """Write one of the tables that come with the package to a CSV file.

    bikes: bikes rented in Washington, DC, each hour, with the weather and the counts of the day and
    the week before. electricity: whether the price rose, each half hour. sulfur: readings of a gas
    sensor, each minute. The rows are in the order of time.
    """
    from swordplay.cli.errors import Failed, Refused
    from swordplay.datasets.samples import SAMPLES
    from swordplay.tables.partial import Partial

    sample, path = SAMPLES[name], output or f"{name}.csv"
    if os.path.exists(path) and not force:
        raise Refused(f"{path} exists. Give another place with -o, or replace it with --force.")
    try:
        text = "".join(sample.lines())
        file = Partial(path)
        file.append(text.encode())
        file.publish()
    except ValueError as error:  # a TableError says which file cannot be written, and why
        raise Failed(str(error)) from error
    count = text.count("\n") - 1
    click.echo(f"{path}: {sample.about}; {count:,} rows. The column to predict is {sample.target}.")
    report = f"{os.path.splitext(path)[0]}.html"
    click.echo(f"Try: swordplay track {path} --target {sample.target} --report {report}")
