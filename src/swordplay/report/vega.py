"""Vega, which draws the charts: its script and still pictures, from the package vl-convert-python.

Nothing else imports it, and nothing is fetched: the package carries the script inside.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any

from swordplay.core import extras

# The package's own ``vega`` is null in a bundle (1.9), so the page draws by vega-embed.
LONG_NUMBER = re.compile(r"(\.\d\d)\d+")
"""Digits of a place in a drawing beyond a hundredth of a pixel."""
PATH = re.compile(r'(?<= d=")[^"]*(?=")')
CLIP = re.compile(r"(?<=id=\")clip\d+(?=\")|(?<=url\(#)clip\d+(?=\))")
SNIPPET = "window.vegaEmbed = vegaEmbed;"


@functools.cache
def script() -> str:
    """Vega as a script for a page, 0.9 MB. Making it takes a second, once in a process."""
    return str(_package().javascript_bundle(snippet=SNIPPET))


def still(spec: Mapping[str, Any], name: str) -> str:
    """A chart as SVG, for readers without JavaScript.

    Parameters
    ----------
    spec
        The chart in Vega's language.
    name
        Of the chart, unique in its page: clipping paths are called by it, as Vega would number all
        that it ever drew.
    """
    picture = PATH.sub(
        lambda path: LONG_NUMBER.sub(r"\1", path[0]), str(_package().vega_to_svg(dict(spec)))
    )
    numbers = {path: k for k, path in enumerate(dict.fromkeys(CLIP.findall(picture)))}
    return CLIP.sub(lambda path: f"{name}-clip{numbers[path[0]]}", picture)


def _package() -> Any:
    try:
        import vl_convert
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError(
            f"reports need vl-convert-python. Install it with: {extras.pip_command('cli')}",
            name="vl_convert",
        ) from missing
    return vl_convert
