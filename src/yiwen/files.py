"""Files that are whole or absent: atomic writes, folders with a manifest of hashes, one writer at a time.

A folder is published in this order: every file written and fsynced, `manifest.json` with the SHA-256 of each as
the last file, the folder fsynced, one rename, the parent fsynced. Whoever finds a manifest finds everything.
"""

from __future__ import annotations

import errno
import glob
import hashlib
import json
import os
import platform
import re
import shutil
import time
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from yiwen.errors import CheckpointError, ConfigError, TrainingError

MANIFEST = "manifest.json"
_TEMPORARY = ".tmp-"
_HOST = f"{zlib.crc32(platform.node().encode()):08x}"
"""Containers that share a folder have processes of one number; each has a host name of its own."""
_LONGEST = 40
"""Letters of a name that its temporary one keeps: a file system allows 255 bytes, four a letter."""


def sha256(path: Path) -> str:
    """Hex digest of a file's bytes, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fsync(path: Path) -> None:
    """Force a file or a folder to the disk (folders where the system allows it)."""
    if path.is_dir() and os.name == "nt":  # Windows opens no folders
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL or not path.is_dir():  # Samba's and VirtualBox's folders know no fsync
            raise
    finally:
        os.close(descriptor)


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """Give a file that becomes `path` when the block ends well: a reader sees the old content or the new, never a part.

    What a link means is written; a pipe or a device is written to as it is.
    """
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    path = Path(os.path.realpath(path))  # Path.resolve raises RuntimeError at links in a circle
    temporary = _cleared(path)
    with _removed_on_failure(temporary, path):
        with temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, temporary)
        temporary.replace(path)
        fsync(path.parent)


@contextmanager
def _removed_on_failure(temporary: Path, path: Path) -> Iterator[None]:
    """Around the writing of what becomes `path`: a full disk must not stay full of our halves; errors tell its name."""
    try:
        yield
    except BaseException as error:
        # On a disk that fails these do, too, each for itself: what came first is told.
        with suppress(OSError):
            _settle_aside(path)
        with suppress(OSError):
            remove(temporary)
        if isinstance(error, OSError) and error.errno:  # a library's own words would be lost
            error.filename = error.filename or str(path)  # which no error of `write` and `fsync` has
        raise


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file, whole or not at all."""
    with new_file(path) as file:
        file.write(content)


def write_text(path: Path, content: str) -> None:
    """Write UTF-8 text with `\\n` line ends, whole or not at all."""
    write_bytes(path, content.encode("utf-8"))


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write texts that hold no line end, one a line, whole or not at all."""
    write_text(path, "".join(f"{line}\n" for line in lines))


def write_json(path: Path, value: object) -> None:
    """Write readable JSON, whole or not at all."""
    write_text(path, json.dumps(value, ensure_ascii=False, indent=2) + "\n")


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Give a temporary folder that becomes `path` when the block ends well, and vanishes when it does not.

    The manifest is written for the caller. An existing `path` is replaced: moved aside, then removed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    put_back(path.parent)  # a new one may fail, and what a killed writer moved aside would be lost with its halves
    temporary = _cleared(path)
    temporary.mkdir()
    with _removed_on_failure(temporary, path):
        yield temporary
        written = [*temporary.rglob("*")]
        for each in written:
            fsync(each)
        # A folder inside that was published by itself has a manifest of its own.
        files = sorted(file for file in written if file.is_file() and not is_complete(file.parent))
        write_json(temporary / MANIFEST, {file.relative_to(temporary).as_posix(): sha256(file) for file in files})
        with suppress(FileNotFoundError):  # there is none, or another process has just moved it
            path.rename(_temporary(path, "old-"))
        temporary.rename(path)
        _settle_aside(path)
        fsync(path.parent)


def _settle_aside(path: Path) -> None:
    """Let what was moved aside give way to a new one, be it of another process, and to nothing else."""
    aside = _temporary(path, "old-")
    if path.exists():
        remove(aside)
    elif aside.exists():
        aside.rename(path)


def put_back(folder: Path) -> None:
    """Return to its place what a `new_folder` that was killed between its two renames was about to replace."""
    for aside in folder.glob(f"{_TEMPORARY}*-old-*"):
        path = folder / aside.name.partition("-old-")[2]
        with suppress(PermissionError, FileNotFoundError):  # another user's; or another process has just put it back
            if len(path.name) < _LONGEST and is_whole(aside) and not (path.exists() or _is_written(aside)):
                aside.rename(path)


def _temporary(path: Path, kind: str = "") -> Path:
    """Where this process writes what becomes `path`: another may be writing the same."""
    return path.with_name(f"{_TEMPORARY}{os.getpid()}.{_HOST}-{kind}{path.name[-_LONGEST:]}")


def _cleared(path: Path) -> Path:
    """The same, after what killed writers of that name left there is removed, as far as it may be."""
    temporary = _temporary(path)
    for leftover in path.parent.glob(f"{_TEMPORARY}*-{glob.escape(path.name[-_LONGEST:])}"):
        if leftover == temporary or not _is_written(leftover):
            with suppress(OSError):
                remove(leftover)
    return temporary


def meant(path: str) -> str:
    """The path that a temporary one becomes, for messages; any other as it is.

    >>> meant("runs/.tmp-7.0a1b2c3d-recipe.toml")
    'runs/recipe.toml'
    """
    return re.sub(rf"({re.escape(_TEMPORARY)}\d+\.\w+-)+", "", path)


def _is_written(temporary: Path) -> bool:
    """Whether the process that writes there lives, or is none of ours; on another host, whether it may."""
    pid, _, host = temporary.name.split("-")[1].partition(".")
    if host not in ("", _HOST) or os.name == "nt":  # where signal 0 is Ctrl-C
        return not temporary.exists() or time.time() - temporary.stat().st_mtime < 86_400
    try:
        os.kill(int(pid), 0)
    except (OSError, ValueError, OverflowError) as error:  # another user's, or no number of a process
        return not isinstance(error, ProcessLookupError)
    return True


def is_complete(folder: Path) -> bool:
    """True where a folder was published whole (its manifest is there)."""
    return (folder / MANIFEST).is_file()


def is_whole(folder: Path) -> bool:
    """True for a published folder without a flaw; a damaged one is to be made again."""
    with suppress(CheckpointError):
        verify_manifest(folder)
        return True
    return False


def read_json(path: Path, remedy: str) -> Any:
    """Read JSON; what cannot be read is told with what to do about it.

    Raises:
        CheckpointError: If it is missing, unreadable or no JSON.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{path} cannot be read ({error}); {remedy}") from error


def verify_manifest(folder: Path, *, leave_out: Collection[str] = ()) -> Mapping[str, str]:
    """Check every file of a published folder against its manifest; gives that: the SHA-256 of each file by name.

    Args:
        folder: A folder made by `new_folder`.
        leave_out: Names of big files that the caller does not read now.

    Raises:
        CheckpointError: If the manifest is missing or unreadable, or a file is missing or changed; all are named.
    """
    if not is_complete(folder):
        raise CheckpointError(f"{folder} has no {MANIFEST}: it was never finished or is no yiwen folder; make it again")
    hashes = read_json(folder / MANIFEST, "make the folder again")
    if not isinstance(hashes, dict) or not all(isinstance(value, str) for value in hashes.values()):
        raise CheckpointError(f"{folder / MANIFEST} does not map file names to hashes; make the folder again")
    problems = []
    for name, expected in hashes.items():
        file = folder / name
        if ".." in Path(name).parts or Path(name).is_absolute():
            problems.append(f"{name} points outside the folder")
        elif name in leave_out:
            continue
        elif not file.is_file():
            problems.append(f"{name} is missing")
        elif sha256(file) != expected:
            problems.append(f"{name} has changed")
    if problems:
        raise CheckpointError(f"{folder} is damaged: {'; '.join(problems)}; restore it from a copy or make it again")
    return hashes


def absolute_path(path: Path) -> Path:
    """The path from the root on, without `..`; links stay as they are."""
    return Path(os.path.abspath(path))  # noqa: PTH100  Path.resolve follows links, Path.absolute keeps `..`


def may_write(path: Path) -> bool:
    """Whether a file can be put there, its folder made where it is not there yet; devices and pipes are there."""
    above = next(folder for folder in path.absolute().parents if folder.exists())
    is_free = above.is_dir() and os.access(above, os.W_OK | os.X_OK)
    return os.access(path, os.W_OK) and (is_free or not path.is_file()) if path.exists() else is_free


def require_place(path: Path, *, name: str, read: Iterable[Path | None] = ()) -> None:
    """Make sure, before long work, that its result can be written to what the user calls `name`, as in `--output`.

    Raises:
        ConfigError: If its folder is not there, it may not be written, or it is one of the files (None or `-`: stdin)
            that are read.
    """
    if not path.parent.is_dir():
        raise ConfigError(f"{name} {path}: the folder {path.parent} does not exist; make it first")
    if path.is_dir() or not may_write(path):
        raise ConfigError(f"{name} {path} is a folder or may not be written; give the path of a file of yours")
    sources = (0 if source is None or str(source) == "-" else source for source in read)
    if path.is_file() and any(os.path.samefile(path, source) for source in sources):  # noqa: PTH121  0 has no method
        raise ConfigError(f"{name} {path} is what is read, and would be lost; give a file of its own")


def require_free(path: Path) -> None:
    """Make sure, before long work, that its result can become a new folder.

    Raises:
        ConfigError: If something is there, or nothing may be.
    """
    if path.exists() or not may_write(path):
        raise ConfigError(f"{path} exists already, or may not be written; give another --output")


def require_link(link: Path) -> None:
    """Make sure that nothing but a symbolic link is there.

    Raises:
        CheckpointError: If there is a folder in its place.
    """
    if link.is_dir() and not link.is_symlink():
        raise CheckpointError(f"{link} is a folder where a link belongs: a copy that followed it; move it elsewhere")


def swap_link(link: Path, target: Path) -> None:
    """Point a symbolic link at `target` (a sibling or below), atomically; refused as in `require_link`."""
    require_link(link)
    temporary = link.with_name(f"{_TEMPORARY}{link.name}")
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(os.path.relpath(target, link.parent), target_is_directory=True)
    temporary.replace(link)
    fsync(link.parent)


def remove(path: Path) -> None:
    """Remove a file, a link or a folder with all it holds; nothing happens where there is nothing."""
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.is_dir():
        if not path.name.startswith(_TEMPORARY):  # killed half way, it must not look like a whole folder
            aside = path.with_name(f"{_TEMPORARY}removed-{path.name}")
            remove(aside)
            path = path.rename(aside)
        shutil.rmtree(path)


def remove_leftovers(folder: Path, *, is_ours: bool = True) -> None:
    """Remove what a killed writer left behind in `folder`, if there is one; elsewhere what others write stays."""
    for leftover in list(folder.glob(f"{_TEMPORARY}*")):
        if is_ours or not _is_written(leftover):
            remove(leftover)


@contextmanager
def one_writer(folder: Path) -> Iterator[None]:
    """Hold the folder's `lock` for the length of the block; the kernel frees it when the process dies.

    Raises:
        TrainingError: If another process holds it; the message names that process.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("ab+", buffering=0) as file:
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:  # Windows: no flock, no guard
            pass
        except BlockingIOError:
            file.seek(0)
            holder = file.read().decode().strip() or "unknown"
            remedy = "wait for it, stop it, or use another folder"
            raise TrainingError(f"{folder} is being written by process {holder}; {remedy}") from None
        with suppress(OSError):  # a disk without a byte free is told by the name of a file that counts
            file.truncate(0)
            file.write(f"{os.getpid()}\n".encode())
        yield
