"""Functions with many options show each of them, and refuse those that there are not."""

import inspect
from typing import TypedDict, Unpack

import pytest

import swordplay as sp
from swordplay.core.options import completed, spelled_out


class Options(TypedDict, total=False):
    """What may be said.

    size
        How large it is.
    """

    size: int


USUAL: Options = {"size": 3}


@spelled_out(Options, USUAL)
def make(name: str, **options: Unpack[Options]) -> Options:
    """Make one.

    Parameters
    ----------
    name
        What it is called.
    **options
        See :class:`Options`.

    Returns
    -------
    Options
    """
    return completed("make", options, USUAL)


def test_what_is_said_goes_before_what_is_usual():
    assert make("a") == {"size": 3}
    assert make("a", size=5) == {"size": 5}
    assert USUAL == {"size": 3}


def test_an_option_that_there_is_not_is_refused_as_python_does():
    with pytest.raises(
        TypeError,
        match=r"^make\(\) got an unexpected keyword argument 'sizes'\. Did you mean 'size'\?$",
    ):
        make("a", sizes=5)
    with pytest.raises(TypeError, match=r"^make\(\) got an unexpected keyword argument 'colour'$"):
        make("a", colour="red")


def test_every_option_is_in_the_signature_and_in_the_help():
    assert str(inspect.signature(make)).startswith("(name: str, *, size: int = 3) -> ")
    assert "    What it is called.\nsize\n    How large it is.\n\nReturns" in make.__doc__


def test_those_of_track_are_all_described():
    pytest.importorskip("pyarrow")
    parameters = inspect.signature(sp.track).parameters
    assert len(parameters) == 26
    assert parameters["encoding"].default == "utf-8"
    assert {parameters[name].annotation for name in ("lags", "curves", "force")} == {
        "int | str",
        "str | None",
        "bool",
    }
    about = sp.track.__doc__.partition("Returns")[0]
    assert [name for name in parameters if name not in about] == []
