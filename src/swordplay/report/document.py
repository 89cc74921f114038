"""A page as one HTML file that needs nothing else: no network, no fonts, no folder beside it.

A content policy in the page forbids the browser to load anything, and to run any script but the two
named by their hash.
"""

from __future__ import annotations

import base64
import hashlib
import os
from importlib import resources

from swordplay.core.files import write_atomic
from swordplay.report import vega
from swordplay.report.markup import Drawer, escaped
from swordplay.report.page import HtmlPage

POLICY = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; "
    "form-action 'none'"
)


def write(page: HtmlPage, path: str | os.PathLike[str]) -> None:
    """Write a page, all or nothing: the path holds the old file or the whole new one.

    Raises
    ------
    OSError
        If it could not be written.
    """
    write_atomic(path, render(page).encode("utf-8"))


def render(page: HtmlPage, own: str = "", policy: str = POLICY) -> str:
    """The page as HTML: equal pages give equal text.

    Parameters
    ----------
    page
        What is on it.
    own
        A script of its own, after those of the charts.
    policy
        What a browser may load; the scripts are added.
    """
    drawer = Drawer()
    body = "\n".join(drawer.section(section) for section in page.sections)
    scripts = [vega.script(), resource("page.js")] if drawer.charts else []
    scripts += [own] if own else []
    # Vega compiles its expressions, which a browser calls evaluation.
    policy += (
        f"; script-src 'unsafe-eval' {' '.join(map(_fingerprint, scripts))}" if scripts else ""
    )
    title = escaped(page.title, 200)
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{title}</title>\n<style>\n{resource('page.css')}</style>\n</head>\n<body>",
            f"<header>\n<h1><bdi>{title}</bdi></h1>\n<p "
            f'class="facts">{escaped(page.facts, 400)}</p>\n'
            "</header>",
            f"<main>\n{body}\n</main>\n<footer><p>{escaped(page.footer, 400)}</p></footer>",
            *(f"<script>{script}</script>" for script in scripts),
            "</body>\n</html>\n",
        ]
    )


def _fingerprint(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode('utf-8')).digest()).decode('ascii')}'"  # noqa: E501


def resource(name: str) -> str:
    """A file of this room."""
    return resources.files("swordplay.report").joinpath(name).read_text(encoding="utf-8")
