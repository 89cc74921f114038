"""Arrays out of the bytes of a state."""

from __future__ import annotations

from typing import Any, final

import numpy as np


@final
class Reader:
    """Arrays out of bytes, one behind the other.

    Parameters
    ----------
    data, position
        The bytes, and where the first array begins.
    keys
        How many keys they are the state of, for messages.
    """

    def __init__(self, data: bytes, position: int, keys: int) -> None:
        self.data, self.position, self.keys = data, position, keys

    def take(self, dtype: Any, shape: tuple[int, ...]) -> Any:
        """The next array; refused where there are too few bytes for it."""
        count = int(np.prod(shape))
        if self.position + count * np.dtype(dtype).itemsize > len(self.data):
            raise damaged(len(self.data), self.keys)
        array = np.frombuffer(self.data, dtype, count, self.position)
        self.position += array.nbytes
        return array.reshape(shape)


def damaged(size: int, keys: int) -> ValueError:
    """What is said of bytes that are no state."""
    return ValueError(
        f"a state of {size} bytes for {keys} key(s) is damaged. Go back to an earlier checkpoint."
    )
