"""Heat maps as PNG images of a few kilobytes, which a page stretches over the axes of a chart."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np

from swordplay.core.types import Matrix

COLOUR = (0, 114, 178)
"""Blue of Okabe and Ito.

Only its opacity varies, so that the picture suits a light and a dark page.
"""
GAMMA = 0.6
"""Opacity is the weight to this power: small weights are still seen."""


def heatmap_png(weights: Matrix) -> str:
    """Return weights as a PNG image, in a ``data:`` address.

    Parameters
    ----------
    weights
        From 0 to 1, shape ``(rows, columns)``; the first row is drawn on top.
    """
    levels = np.round(255.0 * np.clip(np.nan_to_num(weights), 0.0, 1.0) ** GAMMA).astype(np.uint8)
    height, width = levels.shape
    # A line of a PNG image begins with its filter: 0 is none.
    lines = np.hstack([np.zeros((height, 1), dtype=np.uint8), levels])
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),  # 8 bits, a palette
        (b"PLTE", bytes(COLOUR) * 256),
        (b"tRNS", bytes(range(256))),
        (b"IDAT", zlib.compress(lines.tobytes(), 9)),
        (b"IEND", b""),
    ]
    data = b"\x89PNG\r\n\x1a\n" + b"".join(map(_chunk, *zip(*chunks, strict=True)))
    return f"data:image/png;base64,{base64.b64encode(data).decode('ascii')}"


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
