"""Folders that hold machine code of kernels: their places, and whether their files are trusted.

A process executes the machine code that it reads. A kernel file is therefore read only if neither
the file nor its folder could have been written by another user: both must belong to the current
user or to root, and neither may be writable by group or others. Folders inside the package are
trusted as far as the package's own modules are: they may have the owner of the module's folder, and
be writable by those who may write there anyway (``umask 002``). Folders and files are opened once
and checked by their descriptor, so that they cannot be exchanged between check and use.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).parents[1]
BUNDLED = PACKAGE / "kernels"
"""Machine code that a wheel carries, one folder for each kind of processor (``make wheel``)."""
LARGEST_FILE = 1 << 24
"""Bytes; the largest kernel file of the package has 0.2 MB."""
STALE_SECONDS = 3600.0
"""Age at which a temporary file was left behind by a killed process: writing one takes
milliseconds.
"""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# Does not follow symbolic links and does not block on a FIFO.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class UntrustedFilesWarning(RuntimeWarning):
    """Machine code on disk was not used because others may have written it."""


class KernelFolder(NamedTuple):
    """A folder of kernel files."""

    top: Path
    """The outermost folder that is checked.

    Symbolic links are followed, and what they lead to is checked.
    """
    below: tuple[str, ...] = ()
    """Folders below it on the way to the files."""
    source: Path | None = None
    """Folder of the package's modules whose owner and writers are trusted as well.

    None outside the package.
    """
    private: bool = False
    """Whether it is below the user's cache: what is created there is for this user alone, and
    ``top`` itself is not checked.

    Some systems make ``~/.cache`` writable by the user's own group. A folder that is put in place
    of ours is not ours.
    """

    @property
    def path(self) -> Path:
        """The folder of the files."""
        return self.top.joinpath(*self.below)

    def read(self, name: str) -> bytes | None:
        """Content of a file.

        None if it is missing, cannot be read, or might have been written by another user.
        """
        try:
            with self._opened() as (folder, doubt):
                descriptor = os.open(name, _FILE, dir_fd=folder)
                with open(descriptor, "rb") as file:
                    doubt = doubt or self._doubt(
                        self.path / name, os.fstat(descriptor), stat.S_ISREG
                    )
                    data = b"" if doubt else file.read(LARGEST_FILE + 1)
        except OSError as error:
            if error.errno != errno.ELOOP:
                return None
            doubt = f"{self.path / name} is a symbolic link. Delete it."
        if doubt:
            self._warn(doubt)
        return data if not doubt and len(data) <= LARGEST_FILE else None

    def names(self) -> list[str]:
        """Names of the files of a trusted folder."""
        try:
            with self._opened() as (folder, doubt):
                return [] if doubt else os.listdir(folder)
        except OSError:
            return []

    def write(self, name: str, data: bytes) -> bool:
        """Write a file atomically: other processes see the old file or the new one.

        Returns
        -------
        bool
            False if the folder cannot be written to (read-only, full disk) or might be written to
            by another user.
        """
        try:
            self._create()
            with self._opened() as (folder, doubt):
                if not doubt:
                    _remove_stale(folder)
                    self._write(folder, name, data)
        except OSError:
            return False
        if doubt and self.source is None:  # beside a module, the next folder is used instead
            self._warn(doubt)
        return not doubt

    def is_writable(self) -> bool:
        """Whether files can be written there, by all that can be seen without writing one."""
        try:
            with self._opened() as (folder, doubt):
                return not doubt and os.access(".", os.W_OK, dir_fd=folder)
        except FileNotFoundError:
            found = next(place for place in (self.path, *self.path.parents) if place.exists())
            return found.is_dir() and os.access(found, os.W_OK)
        except OSError:
            return False

    def _write(self, folder: int, name: str, data: bytes) -> None:
        """Write a temporary file and rename it.

        No ``fsync``: a file that a power cut leaves incomplete fails its checksum.
        """
        temporary = f".{name}.{secrets.token_hex(8)}.tmp"
        descriptor = os.open(
            temporary,
            os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC,
            0o600 if self.private else 0o644,
            dir_fd=folder,
        )
        try:
            with open(descriptor, "wb") as file:
                file.write(data)
            os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
            raise

    def _create(self) -> None:
        """Create missing folders, private in the user's cache and readable by all elsewhere."""
        mode = 0o700 if self.private else 0o755
        missing = [place for place in (self.path, *self.path.parents) if not place.exists()]
        for place in reversed(missing):
            with contextlib.suppress(FileExistsError):  # another process was faster
                place.mkdir(mode)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[tuple[int, str]]:
        """Descriptor of the folder, and why it cannot be trusted: an empty string if it can."""
        place, folder = self.top, os.open(self.top, _FOLDER)
        try:
            doubt = "" if self.private else self._doubt(place, os.fstat(folder), stat.S_ISDIR)
            for name in self.below:
                place, outer = place / name, folder
                folder = os.open(name, _FOLDER, dir_fd=outer)
                os.close(outer)
                doubt = doubt or self._doubt(place, os.fstat(folder), stat.S_ISDIR)
            yield folder, doubt
        finally:
            with contextlib.suppress(OSError):
                os.close(folder)

    def _doubt(self, path: Path, found: os.stat_result, is_expected: Callable[[int], bool]) -> str:
        """Why a file or folder cannot be trusted; an empty string if it can."""
        owners, writers = {os.geteuid(), 0}, stat.S_IWGRP | stat.S_IWOTH
        if self.source is not None:
            trusted = os.stat(self.source)
            owners, writers = owners | {trusted.st_uid}, writers & ~trusted.st_mode
        if not is_expected(found.st_mode):
            return f"{path} is no regular file or folder. Delete it."
        if found.st_uid not in owners:
            return f"{path} belongs to another user (uid {found.st_uid}). {_remedy(self)}"
        if found.st_mode & writers:
            return (
                f"{path} can be written by other users. Run `chmod go-w {path}`, or: "
                f"{_remedy(self)}"
            )
        return ""

    def _warn(self, doubt: str) -> None:
        """Say that machine code was not used, and why: once for each folder."""
        if self.path not in _warned:
            _warned.add(self.path)
            said = f"machine code on disk was not used, because others may have written it: {doubt}"
            warnings.warn(said, UntrustedFilesWarning, stacklevel=2)


_warned: set[Path] = set()
"""Folders for which the warning was given in this process."""


def _remedy(folder: KernelFolder) -> str:
    if folder.source is not None:
        return "Delete it."
    if folder.private:
        return "Delete it, or set XDG_CACHE_HOME to a folder of your own."
    return "Set NUMBA_CACHE_DIR to a folder of your own."


def _remove_stale(folder: int) -> None:
    """Remove temporary files of processes that were killed while they wrote."""
    for name in os.listdir(folder):
        if re.fullmatch(r"\..*\.[0-9a-f]{16}\.tmp", name):
            with contextlib.suppress(OSError):
                if (
                    time.time() - os.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime
                    > STALE_SECONDS
                ):
                    os.unlink(name, dir_fd=folder)


def own_folders(source: Path) -> list[KernelFolder]:
    """Folders for machine code of a source file that is compiled here, in order of use.

    ``swordplay`` below NUMBA_CACHE_DIR if the environment has that, else ``__pycache__`` beside the
    source and ``swordplay`` in the user's cache. numba's own setting is not asked: numba also takes
    it from a file of the current folder.
    """
    if (chosen := chosen_folder()) is not None:
        return [chosen]
    beside = KernelFolder(source.parent / "__pycache__", (), source.parent)
    # As the XDG base directory specification has it; it says that relative paths are to be ignored.
    cache = next(
        (
            Path(place)
            for place in (os.environ.get("XDG_CACHE_HOME", ""), os.path.expanduser("~/.cache"))
            if os.path.isabs(place)
        ),
        None,
    )
    return (
        [beside]
        if cache is None
        else [beside, KernelFolder(cache, ("swordplay", "kernels"), private=True)]
    )


def chosen_folder() -> KernelFolder | None:
    """The folder below NUMBA_CACHE_DIR; None if the environment does not have it."""
    place = os.environ.get("NUMBA_CACHE_DIR")
    return KernelFolder(Path(place), ("swordplay",)) if place else None


def bundled_folder(target: str) -> KernelFolder:
    """The package's own folder of machine code for one kind of processor."""
    return KernelFolder(BUNDLED, (target,), PACKAGE)


def kept_files() -> set[Path]:
    """All kernel files of the package that were compiled here, or for here."""
    chosen = chosen_folder()
    places = (
        [chosen.path]
        if chosen
        else [*PACKAGE.rglob("__pycache__"), *(one.path for one in own_folders(PACKAGE)[1:])]
    )
    return {file for place in places for file in place.glob("*.kernel")}


def can_be_kept() -> bool:
    """Whether there is a folder for machine code of the engine that can be written to."""
    return any(folder.is_writable() for folder in own_folders(PACKAGE / "engine" / "rounds.py"))
