"""``swordplay warm``: compile for this very processor, and before the first use."""

from __future__ import annotations

import os
import time

import click

HELP = """Compile all kernels for this processor, or only those of the named jobs.

Without this command each kernel is compiled when it is first used, unless the wheel contains
machine code for the processor, which is nearly as fast.

To compile while a container image is built, or once for all executors of a cluster, write the
machine code with --into to a folder. Processes with NUMBA_CACHE_DIR=FOLDER in their environment
read it there. The folder can be copied. It must belong to their user or to root, and no other user
may be able to write to it. It is valid for the same versions of Python, numba and swordplay on the
same kind of processor. (Set NUMBA_CPU_NAME and NUMBA_CPU_FEATURES alike on both machines if their
processors differ.)

\b
learn      learning and predicting rows       games      the learners of the game
curves     second-order experts               field      Sword++, one projection a round
intervals  how far off a prediction may be    sparse     sparse rows
keys       a model per key                    hindsight  the best comparators
late       answers that come late, servers    combine    forecasts of others
steps      what track compares with           tables     quotes and dates
"""
# click keeps the lines of a paragraph that begins with a backspace as they are.
EXAMPLES = """\b
Examples:
  swordplay warm
  swordplay warm --into /opt/kernels       # and NUMBA_CACHE_DIR=/opt/kernels wherever it is used
  swordplay warm learn intervals --processes 1
"""
NAMES = (
    *(
        "late",
        "keys",
        "games",
        "field",
        "sparse",
        "learn",
        "intervals",
        "curves",
        "hindsight",
        "combine",
        "tables",
        "steps",
    ),
)
"""Keys of ``warming.RECIPES``, told without importing it."""


@click.command("warm", help=HELP, epilog=EXAMPLES)
@click.argument("what", type=click.Choice(NAMES), nargs=-1, metavar="[JOB]...")
@click.option(
    "--into",
    metavar="FOLDER",
    help="Write the machine code to this folder.  [default: the usual cache folder]",
)
@click.option(
    "--processes",
    type=click.IntRange(1),
    metavar="N",
    help="Number of processes that compile.  [default: one for each processor]",
)
@click.option("--quiet", is_flag=True, help="Print the result only, no progress.")
def warm_command(
    what: tuple[str, ...], into: str | None, processes: int | None, quiet: bool
) -> int:
    """Compile, tell what was compiled, and where it is."""
    from swordplay.cli.errors import Failed

    if into is not None:
        try:
            os.makedirs(
                into, 0o755, exist_ok=True
            )  # machine code in a folder that others may write to is not used
        except OSError as error:
            raise Failed(
                f"cannot make the folder {into}: {error.strerror}. Give another one with --into."
            ) from error
        os.environ["NUMBA_CACHE_DIR"] = os.path.abspath(
            into
        )  # before numba is imported, here and in what is started
    os.environ["SWORDPLAY_BUNDLED_KERNELS"] = "0"  # as above: they are not for this very processor
    return _warm(what or NAMES, processes or os.cpu_count() or 1, quiet)


def _warm(names: tuple[str, ...], processes: int, quiet: bool) -> int:
    from swordplay.cli import warming
    from swordplay.cli.errors import Failed
    from swordplay.compile import kernel_folders

    folders = [
        folder.path
        for folder in kernel_folders.local_folders(kernel_folders.PACKAGE / "engine" / "rounds.py")
    ]
    if not kernel_folders.can_store_kernels():
        places = " nor ".join(map(str, folders))
        raise Failed(
            f"machine code cannot be kept in {places}, which cannot be written to, or can be "
            "written to by other users. Give a folder of your own with --into."
        )
    began, before = time.monotonic(), kernel_folders.compiled_files()
    for done in warming.cook_all(names, processes):
        if done.error:
            raise Failed(f"{done.name} could not be compiled: {done.error}")
        if not quiet:
            click.echo(
                f"{done.name:10} {warming.RECIPES[done.name].what}: {done.seconds:.1f} s", err=True
            )
    new = kernel_folders.compiled_files() - before
    size = sum(os.path.getsize(file) for file in new) / 1e6
    place = kernel_folders.environment_folder()
    found = f"{len(new)} kernels compiled, {size:.1f} MB" if new else "everything was there already"
    click.echo(
        f"{found}, in {time.monotonic() - began:.1f} s: "
        f"{place.path if place else 'kept for the next process'}."
    )
    return 0
