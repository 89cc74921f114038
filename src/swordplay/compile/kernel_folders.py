"""Folders that hold machine code of kernels: their paths, and whether their files are trusted.

A process executes the machine code that it reads. A kernel file is therefore read only if no other
user could have written the file or its folder. Both must belong to the current user or to root, and
neither may be writable by group or others. Inside the package, kernel folders are trusted as much
as the modules beside them: they may have the owner of the package folder, and be writable by users
who may write to that folder (``umask 002``). Folders and files are opened once and checked by their
descriptor, so that they cannot be exchanged between check and use.
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
"""Folder of the package ``swordplay``."""
BUNDLED_FOLDERS = PACKAGE / "kernels"
"""Machine code that a wheel carries, one folder for each kind of processor (``make wheel``)."""
MAX_FILE_BYTES = 1 << 24
"""Larger files are not read; the largest kernel file of the package has 0.2 MB."""
STALE_SECONDS = 3600.0
"""Age at which a temporary file counts as left by a killed process (writing takes milliseconds)."""

_OPEN_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# Does not follow symbolic links and does not block on a FIFO.
_OPEN_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class UntrustedFilesWarning(RuntimeWarning):
    """Machine code on disk was not used because others may have written it."""


class KernelFolder(NamedTuple):
    """A folder of kernel files."""

    top: Path
    """Outermost folder that is checked. If it is a symbolic link, its target is checked."""
    subfolders: tuple[str, ...] = ()
    """Names of the nested folders that lead from ``top`` to the files."""
    package_folder: Path | None = None
    """Package folder whose owner and writers are trusted, too; None outside the package."""
    in_user_cache: bool = False
    """Whether it is below the user's cache. New files are then accessible by this user only.

    ``top`` itself is not checked then, because on some systems ``~/.cache`` is writable by the
    user's own group. The folders below it are checked: if another user replaced one of them, it
    belongs to that user and is not trusted.
    """

    @property
    def path(self) -> Path:
        """Folder of the files."""
        return self.top.joinpath(*self.subfolders)

    def read(self, name: str) -> bytes | None:
        """Return the content of a file.

        None if it is missing, cannot be read, or might have been written by another user.
        """
        try:
            with self._opened() as (folder, problem):
                descriptor = os.open(name, _OPEN_FILE_FLAGS, dir_fd=folder)
                with open(descriptor, "rb") as file:
                    problem = problem or self._trust_problem(
                        self.path / name, os.fstat(descriptor), stat.S_ISREG
                    )
                    data = b"" if problem else file.read(MAX_FILE_BYTES + 1)
        except OSError as error:
            if error.errno != errno.ELOOP:
                return None
            problem = f"{self.path / name} is a symbolic link. Delete it."
        if problem:
            self._warn(problem)
        return data if not problem and len(data) <= MAX_FILE_BYTES else None

    def names(self) -> list[str]:
        """Return the names of the files; an empty list if the folder is missing or not trusted."""
        try:
            with self._opened() as (folder, problem):
                return [] if problem else os.listdir(folder)
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
            with self._opened() as (folder, problem):
                if not problem:
                    _remove_stale(folder)
                    self._write(folder, name, data)
        except OSError:
            return False
        # A folder beside a module is left out without a warning: the next folder is used instead.
        if problem and self.package_folder is None:
            self._warn(problem)
        return not problem

    def is_writable(self) -> bool:
        """Whether files can be written, as far as permissions show it without writing one."""
        try:
            with self._opened() as (folder, problem):
                return not problem and os.access(".", os.W_OK, dir_fd=folder)
        except FileNotFoundError:
            # the nearest existing folder, in which the missing ones would be created
            parent = next(path for path in (self.path, *self.path.parents) if path.exists())
            return parent.is_dir() and os.access(parent, os.W_OK)
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
            0o600 if self.in_user_cache else 0o644,
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
        mode = 0o700 if self.in_user_cache else 0o755
        missing = [path for path in (self.path, *self.path.parents) if not path.exists()]
        for path in reversed(missing):
            with contextlib.suppress(FileExistsError):  # another process was faster
                path.mkdir(mode)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[tuple[int, str]]:
        """Yield a descriptor of the folder, and why it is not trusted; an empty string if it is."""
        path, folder = self.top, os.open(self.top, _OPEN_FOLDER_FLAGS)
        try:
            problem = (
                ""
                if self.in_user_cache
                else self._trust_problem(path, os.fstat(folder), stat.S_ISDIR)
            )
            for name in self.subfolders:
                path, parent = path / name, folder
                folder = os.open(name, _OPEN_FOLDER_FLAGS, dir_fd=parent)
                os.close(parent)
                problem = problem or self._trust_problem(path, os.fstat(folder), stat.S_ISDIR)
            yield folder, problem
        finally:
            with contextlib.suppress(OSError):
                os.close(folder)

    def _trust_problem(
        self, path: Path, status: os.stat_result, is_expected_type: Callable[[int], bool]
    ) -> str:
        """Return why a file or folder is not trusted; an empty string if it is.

        ``is_expected_type`` is ``stat.S_ISREG`` for a file, ``stat.S_ISDIR`` for a folder.
        """
        owners = {os.geteuid(), 0}
        refused_mode_bits = stat.S_IWGRP | stat.S_IWOTH
        if self.package_folder is not None:
            trusted = os.stat(self.package_folder)
            owners |= {trusted.st_uid}
            refused_mode_bits &= ~trusted.st_mode
        if not is_expected_type(status.st_mode):
            return f"{path} is no regular file or folder. Delete it."
        if status.st_uid not in owners:
            return f"{path} belongs to another user (uid {status.st_uid}). {_remedy(self)}"
        if status.st_mode & refused_mode_bits:
            return (
                f"{path} can be written by other users. Run `chmod go-w {path}`, or: "
                f"{_remedy(self)}"
            )
        return ""

    def _warn(self, problem: str) -> None:
        """Warn once for each folder that machine code was not used, and why."""
        if self.path not in _warned:
            _warned.add(self.path)
            message = (
                f"machine code on disk was not used, because others may have written it: {problem}"
            )
            warnings.warn(message, UntrustedFilesWarning, stacklevel=2)


_warned: set[Path] = set()
"""Folders for which the warning was given in this process."""


def _remedy(folder: KernelFolder) -> str:
    """Return what to do about a file or folder that another user may have written."""
    if folder.package_folder is not None:
        return "Delete it."
    if folder.in_user_cache:
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


def local_folders(source: Path) -> list[KernelFolder]:
    """Return the folders for machine code of a source file that is compiled here, in order of use.

    ``swordplay`` below NUMBA_CACHE_DIR if the environment has it, else ``__pycache__`` beside the
    source and ``swordplay`` in the user's cache. numba's own setting is ignored: numba also
    reads it from a file in the current folder.
    """
    if (environment := environment_folder()) is not None:
        return [environment]
    beside_source = KernelFolder(source.parent / "__pycache__", (), source.parent)
    # The XDG base directory specification says that relative paths are to be ignored.
    cache = next(
        (
            Path(folder)
            for folder in (os.environ.get("XDG_CACHE_HOME", ""), os.path.expanduser("~/.cache"))
            if os.path.isabs(folder)
        ),
        None,
    )
    return (
        [beside_source]
        if cache is None
        else [beside_source, KernelFolder(cache, ("swordplay", "kernels"), in_user_cache=True)]
    )


def environment_folder() -> KernelFolder | None:
    """Return the folder below NUMBA_CACHE_DIR; None if the environment does not have it."""
    folder = os.environ.get("NUMBA_CACHE_DIR")
    return KernelFolder(Path(folder), ("swordplay",)) if folder else None


def bundled_folder(target: str) -> KernelFolder:
    """Return the package's own folder of machine code for one kind of processor."""
    return KernelFolder(BUNDLED_FOLDERS, (target,), PACKAGE)


def compiled_files() -> set[Path]:
    """Return all kernel files of the package outside the bundled folder."""
    environment = environment_folder()
    folders = (
        [environment.path]
        if environment
        else [*PACKAGE.rglob("__pycache__"), *(cache.path for cache in local_folders(PACKAGE)[1:])]
    )
    return {file for folder in folders for file in folder.glob("*.kernel")}


def can_store_kernels() -> bool:
    """Whether machine code of the engine can be written to one of its folders on this machine."""
    return any(folder.is_writable() for folder in local_folders(PACKAGE / "engine" / "rounds.py"))
