# SPDX-License-Identifier: Apache-2.0
"""How files and directories are made in Python: all of them come from here (tools/check_writers.py finds the others).

As in src/base/core/new_file.h: whatever the umask, a file has mode 0640 and a directory 0750. No link is followed in the last step of a path,
because anybody may have put it there, and it may lead to a file that is not ours."""
import contextlib
import errno
import json
import os
import stat
from typing import Any, Iterator

_FILE_MODE = 0o640
_DIRECTORY_MODE = 0o750


def _create(path: str, flags: int) -> int:
    """Only here are files created."""
    descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, _FILE_MODE)
    with contextlib.suppress(OSError):  # a file system without modes has none to set
        os.fchmod(descriptor, _FILE_MODE)
    return descriptor


def _create_instead(path: str, flags: int) -> int:
    """In the place of whatever has that name; removing a name never follows a link."""
    try:
        return _create(path, flags)
    except FileExistsError:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        return _create(path, flags)


def open_in_place(path: "str | os.PathLike[str]", flags: int) -> int:
    """A descriptor of the file, which is made if it is not there."""
    path = os.fspath(path)
    with contextlib.suppress(FileExistsError):
        return _create(path, flags)
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, "not a regular file", path)


class _Writer:
    """What torch.save(), numpy.save() and others take for a file. They see an error as an exception, never as a short write."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def write(self, data: Any) -> int:
        rest = memoryview(data).cast("B")
        while rest:
            rest = rest[os.write(self._descriptor, rest):]  # os.write() itself goes on after EINTR
        return memoryview(data).nbytes

    def flush(self) -> None:
        """Nothing is held back."""


def _is_same_file(descriptor: int, path: str, unknown: bool) -> bool:
    """`unknown`: what counts where a look at one of them fails, or nothing has that name."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except OSError:
        return unknown


@contextlib.contextmanager
def new_file(path: "str | os.PathLike[str]") -> Iterator[_Writer]:
    """A file that appears under its name when the block ends without an exception: until then it is `path`.partial, and what `path` was
    before stays."""
    path = os.fspath(path)
    partial = path + ".partial"
    descriptor = _create_instead(partial, os.O_WRONLY)
    committed = False
    try:
        yield _Writer(descriptor)
        if not _is_same_file(descriptor, partial, unknown=False):
            raise OSError(errno.ESTALE, "it was removed or replaced while it was written", partial)
        os.rename(partial, path)
        committed = True
    finally:
        if not committed and _is_same_file(descriptor, partial, unknown=True):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(partial)
        os.close(descriptor)


def write_bytes(path: "str | os.PathLike[str]", data: bytes) -> None:
    with new_file(path) as file:
        file.write(data)


def write_text(path: "str | os.PathLike[str]", text: str) -> None:
    write_bytes(path, text.encode())


def write_json(path: "str | os.PathLike[str]", value: Any) -> None:
    write_text(path, json.dumps(value))


def append_text(path: "str | os.PathLike[str]", text: str) -> None:
    """To the end of a file that grows over a run."""
    descriptor = open_in_place(path, os.O_WRONLY | os.O_APPEND)
    try:
        _Writer(descriptor).write(text.encode())
    finally:
        os.close(descriptor)


def make_directories(path: "str | os.PathLike[str]") -> None:
    """Every directory of `path` that is missing."""
    path = os.fspath(path)
    if not path or os.path.isdir(path):
        return
    parent = os.path.dirname(path.rstrip("/"))
    if parent != path:
        make_directories(parent)
    try:
        os.mkdir(path, _DIRECTORY_MODE)
    except FileExistsError:
        if os.path.isdir(path):  # another process made it, or it is "a/." of a directory that was just made
            return
        raise
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            os.fchmod(descriptor, _DIRECTORY_MODE)
        finally:
            os.close(descriptor)
