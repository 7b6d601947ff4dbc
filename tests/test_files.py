"""Files and folders are whole or absent, whatever happens in between."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import pytest

from yiwen import files
from yiwen.errors import CheckpointError, TrainingError


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_replaced_whole_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    files.write_json(path, {"name": "译文"})
    files.write_json(path, {"name": "译文", "n": 2})
    assert json.loads(path.read_text(encoding="utf-8")) == {"name": "译文", "n": 2}
    assert "译文" in path.read_text(encoding="utf-8")
    assert names(tmp_path) == ["a.json"]


def test_text_keeps_its_line_ends(tmp_path: Path) -> None:
    files.write_text(tmp_path / "a.txt", "one\ntwo\r\n\u2028three\n")
    assert (tmp_path / "a.txt").read_bytes() == "one\ntwo\r\n\u2028three\n".encode()


def test_a_write_that_fails_keeps_the_old_content_and_frees_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.txt"
    files.write_text(path, "old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left") as caught:
        files.write_text(path, "new")
    assert caught.value.filename == str(path)  # the system names no file where a write fails
    assert path.read_text(encoding="utf-8") == "old"
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO, errno.EACCES])
@pytest.mark.parametrize("place", ["file", "folder", "above"])
def test_whatever_fails_while_something_is_written_its_name_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int, place: str
) -> None:
    """The system names no file where it can force none to the disk: be it a file, a new folder or the one above."""

    def refuse(descriptor: int) -> None:
        what = os.fstat(descriptor)
        is_above = os.path.samestat(what, tmp_path.stat())
        if place == ("above" if is_above else "folder" if stat.S_ISDIR(what.st_mode) else "file"):
            raise OSError(error, os.strerror(error))

    monkeypatch.setattr(os, "fsync", refuse)
    if place != "folder":
        with pytest.raises(OSError, match=os.strerror(error)) as caught:
            files.write_text(tmp_path / "a.txt", "text")
        assert caught.value.filename == str(tmp_path / "a.txt")
    if place != "file":
        with pytest.raises(OSError, match=os.strerror(error)) as caught, files.new_folder(tmp_path / "b") as folder:
            (folder / "inside").mkdir()
        assert caught.value.filename == str(tmp_path / "b")
    assert not list(tmp_path.glob(".tmp-*"))


@pytest.mark.parametrize(
    "first", [OSError(errno.EIO, "Input/output error"), KeyboardInterrupt()], ids=["EIO", "a stop"]
)
def test_of_a_disk_that_then_cannot_even_be_cleared_what_came_first_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: BaseException
) -> None:
    def remount(path: Path) -> None:
        raise OSError(errno.EROFS, "Read-only file system", "weights.json")

    monkeypatch.setattr(files, "remove", remount)
    with pytest.raises(type(first)) as caught, files.new_folder(tmp_path / "b"):
        raise first
    assert caught.value is first


def test_a_file_that_the_system_names_is_the_one_that_is_told(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught, files.new_folder(tmp_path / "b"):
        (tmp_path / "corpus.en").read_bytes()
    assert caught.value.filename == str(tmp_path / "corpus.en")


def test_what_a_library_says_of_an_error_without_a_number_is_kept(tmp_path: Path) -> None:
    with pytest.raises(OSError) as caught, files.new_folder(tmp_path / "b"):
        raise OSError("Not found: a vocabulary")
    assert str(caught.value) == "Not found: a vocabulary"


@pytest.mark.parametrize("error", [errno.EINVAL, errno.EIO])
def test_a_file_system_that_forces_no_folders_to_the_disk_is_written_to_and_a_broken_disk_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    def refuse(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(error, os.strerror(error))

    monkeypatch.setattr(os, "fsync", refuse)
    with nullcontext() if error == errno.EINVAL else pytest.raises(OSError, match="Input/output error"):
        files.write_text(tmp_path / "a.txt", "text")
        with files.new_folder(tmp_path / "b") as folder:
            (folder / "file").touch()
        files.verify_manifest(tmp_path / "b")


def test_a_file_that_others_may_not_read_stays_so_when_it_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "private.txt"
    path.write_bytes(b"old")
    path.chmod(0o600)
    files.write_bytes(path, b"new")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"new", 0o600)


def test_two_processes_that_write_one_file_leave_one_of_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt"
    with files.new_file(path) as ours:
        ours.write(b"ours, long")
        monkeypatch.setattr(os, "getpid", lambda: 1)
        files.write_text(path, "theirs")
        monkeypatch.undo()
        assert path.read_text(encoding="utf-8") == "theirs"
    assert path.read_text(encoding="utf-8") == "ours, long"
    assert names(tmp_path) == ["a.txt"]


def test_a_new_folder_carries_a_manifest_of_all_its_files(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "down" / "bundle"
    with files.new_folder(folder) as new:
        (new / "part").mkdir()
        (new / "part" / "b.bin").write_bytes(b"b")
        (new / "a.bin").write_bytes(b"a")
        with files.new_folder(new / "published") as inside:  # which has a manifest of its own
            (inside / "c.bin").write_bytes(b"c")
        assert not folder.exists()
    manifest = json.loads((folder / files.MANIFEST).read_text(encoding="utf-8"))
    assert list(manifest) == ["a.bin", "part/b.bin"]
    assert manifest["a.bin"] == "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
    assert files.is_complete(folder)
    files.verify_manifest(folder)
    assert names(folder.parent) == ["bundle"]


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_a_folder_whose_making_fails_leaves_the_old_one(tmp_path: Path, error: type[BaseException]) -> None:
    folder = tmp_path / "bundle"
    with files.new_folder(folder) as new:
        (new / "a").write_bytes(b"old")

    def fail() -> None:
        with files.new_folder(folder) as new:
            (new / "a").write_bytes(b"new")
            raise error

    with pytest.raises(error):
        fail()
    assert (folder / "a").read_bytes() == b"old"
    assert names(tmp_path) == ["bundle"]


def test_a_folder_replaces_an_older_one_and_what_a_killed_writer_left(tmp_path: Path) -> None:
    folder = tmp_path / "bundle"
    ours = files._temporary(folder).name  # of a process of this number that was killed
    long_gone = ".tmp-1.00000000-bundle"  # of another host
    for left in (".tmp-99999999-bundle", ".tmp-99999999-old-bundle", ours, long_gone):
        (tmp_path / left).mkdir()
        (tmp_path / left / "half").write_bytes(b"x")
    os.utime(tmp_path / long_gone, (0, 0))
    for content in (b"old", b"new"):
        with files.new_folder(folder) as new:
            (new / "a").write_bytes(content)
    assert (folder / "a").read_bytes() == b"new"
    assert names(folder) == ["a", files.MANIFEST]
    assert names(tmp_path) == ["bundle"]


def moved_aside(aside: Path) -> None:
    """A whole folder, as a writer that is killed just between its two renames leaves the old one."""
    with files.new_folder(aside.parent.parent / "elsewhere" / "whole") as folder:
        (folder / "file").touch()
    aside.parent.mkdir(exist_ok=True)
    (aside.parent.parent / "elsewhere" / "whole").rename(aside)


def test_what_a_killed_writer_moved_aside_and_did_not_replace_returns(tmp_path: Path) -> None:
    place = tmp_path / "place"
    living = files._temporary(place / "b", "old-").name
    shortened = f".tmp-99999999-old-{'e' * 40}"  # maybe of a longer name
    left = (".tmp-99999999-old-a", living, ".tmp-99999999-old-c", ".tmp-99999999-old-d", shortened)
    for aside in left:
        moved_aside(place / aside)
    (place / "c").mkdir()  # it was replaced
    (place / ".tmp-99999999-old-d" / "file").unlink()  # half removed, since what replaced it was whole
    files.put_back(place)
    assert names(place) == sorted([*left[1:], "a", "c"])


def test_what_a_killed_writer_moved_aside_outlives_a_new_one_that_fails(tmp_path: Path) -> None:
    path = tmp_path / "place" / "ctranslate2"
    moved_aside(path.with_name(".tmp-99999999-old-ctranslate2"))
    with pytest.raises(ZeroDivisionError), files.new_folder(path):
        raise ZeroDivisionError
    assert files.is_whole(path)
    assert names(path.parent) == ["ctranslate2"]


@pytest.mark.parametrize("error", [PermissionError, FileNotFoundError])
def test_what_another_moved_aside_and_only_they_may_put_back_keeps_nobody_from_writing_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[OSError]
) -> None:
    """In a folder of several users; the other error is that of two processes that put it back at the same moment."""
    theirs, rename = tmp_path / "place" / ".tmp-99999999-old-theirs", Path.rename
    moved_aside(theirs)

    def renamed(path: Path, target: Path) -> Path:
        if path == theirs:
            raise error(path)
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", renamed)
    with files.new_folder(tmp_path / "place" / "ours"):
        pass
    assert names(tmp_path / "place") == [theirs.name, "ours"]


def test_a_file_replaces_what_a_killed_writer_of_its_name_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for left in (".tmp-99999999-a[1].txt", ".tmp-99999999-b.txt", f".tmp-{os.getpid()}-a[1].txt"):
        (tmp_path / left).touch()
    files.write_text(tmp_path / "a[1].txt", "new")
    assert names(tmp_path) == [f".tmp-{os.getpid()}-a[1].txt", ".tmp-99999999-b.txt", "a[1].txt"]

    def refuse(path: Path) -> None:  # it is another user's
        raise PermissionError(path)

    monkeypatch.setattr(files, "remove", refuse)
    files.write_text(tmp_path / "b.txt", "new")
    assert (tmp_path / "b.txt").read_text(encoding="utf-8") == "new"


def test_what_another_user_writes_and_what_is_being_removed_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(pid: int, signal: int) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "kill", refuse)
    left = [".tmp-1-a.txt", ".tmp-removed-a.txt"]
    for name in left:
        (tmp_path / name).touch()
    files.write_text(tmp_path / "a.txt", "new")
    assert names(tmp_path) == [*left, "a.txt"]


def test_where_no_process_can_be_asked_whether_it_lives_its_age_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new, young, old = (
        tmp_path / f".tmp-{name}" for name in (f"{os.getpid()}-new", "99999999-young", f"{os.getpid()}-old")
    )
    for folder in (new, young, old):
        folder.mkdir()
    os.utime(young, (time.time() - 7200, time.time() - 7200))
    os.utime(old, (0, 0))
    asked: list[int] = []
    with monkeypatch.context() as windows:
        windows.setattr(os, "kill", lambda pid, signal: asked.append(pid))
        windows.setattr(os, "name", "nt")
        found = [files._is_written(folder) for folder in (new, young, old)]
    assert (found, asked) == ([True, True, False], [])
    assert files._is_written(tmp_path / ".tmp-7.00000000-gone"), "and another may have removed it meanwhile"


def test_another_container_that_writes_the_same_is_left_alone(tmp_path: Path) -> None:
    (theirs := tmp_path / f".tmp-{os.getpid()}.00000000-bundle").mkdir()
    with files.new_folder(tmp_path / "bundle") as ours:
        assert ours != theirs
    assert names(tmp_path) == [theirs.name, "bundle"]


def test_two_processes_that_make_one_folder_leave_one_of_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with files.new_folder(tmp_path / "bundle") as ours:
        (ours / "a").write_bytes(b"ours")
        with monkeypatch.context() as other:
            other.setattr(os, "getpid", os.getppid)
            with files.new_folder(tmp_path / "bundle") as theirs:
                (theirs / "a").write_bytes(b"theirs")
    assert (tmp_path / "bundle" / "a").read_bytes() == b"ours"
    files.verify_manifest(tmp_path / "bundle")
    assert names(tmp_path) == ["bundle"]


def test_where_a_disk_is_full_the_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No space left") as caught, files.new_folder(tmp_path / "bundle"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert caught.value.filename == str(tmp_path / "bundle")
    assert names(tmp_path) == []


@pytest.mark.skipif(os.name == "nt", reason="Windows limits no file sizes")
def test_where_not_a_byte_is_free_the_file_is_named_and_not_the_lock(tmp_path: Path) -> None:
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        with pytest.raises(OSError, match="File too large") as caught, files.one_writer(tmp_path):
            files.write_text(tmp_path / "teacher.json", "{}")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert caught.value.filename == str(tmp_path / "teacher.json")


def test_an_old_folder_that_another_process_moves_away_is_not_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, rename = tmp_path / "bundle", Path.rename
    path.mkdir()

    def rename_late(self: Path, target: Path) -> Path:
        if self == path:
            shutil.rmtree(path)
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", rename_late)
    with files.new_folder(path) as new:
        (new / "ours").touch()
    assert names(path) == ["manifest.json", "ours"]
    assert names(tmp_path) == ["bundle"]


@pytest.mark.parametrize("is_there", [False, True])
def test_a_folder_that_another_process_was_quicker_to_put_there_stays_and_ours_leaves_nothing(
    is_there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, rename = tmp_path / "bundle", Path.rename
    if is_there:
        path.mkdir()

    def rename_late(self: Path, target: Path) -> Path:
        if target == path:
            (path / "theirs").mkdir(parents=True)
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", rename_late)
    with pytest.raises(OSError, match="not empty"), files.new_folder(path):
        pass
    assert names(path) == ["theirs"]
    assert names(tmp_path) == ["bundle"]


def test_the_old_folder_comes_back_where_the_new_one_cannot_take_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, rename = tmp_path / "bundle", Path.rename
    (path / "old").mkdir(parents=True)

    def rename_once(self: Path, target: Path) -> Path:
        if target == path and "old" not in self.name:  # a Ctrl-C at this moment; on Windows whoever reads it
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", rename_once)
    with pytest.raises(KeyboardInterrupt), files.new_folder(path):
        pass
    assert names(path) == ["old"]
    assert names(tmp_path) == ["bundle"]


def test_an_interrupt_while_the_old_folder_is_removed_leaves_nothing_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, rmtree = tmp_path / "bundle", shutil.rmtree
    path.mkdir()
    (path / "old").touch()

    def interrupted(folder: Path) -> None:
        monkeypatch.setattr(shutil, "rmtree", rmtree)
        raise KeyboardInterrupt

    monkeypatch.setattr(shutil, "rmtree", interrupted)
    with pytest.raises(KeyboardInterrupt), files.new_folder(path) as new:
        (new / "new").touch()
    assert names(path) == ["manifest.json", "new"]
    assert names(tmp_path) == ["bundle"]


def test_halves_go_also_where_the_old_folder_cannot_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, rename = tmp_path / "bundle", Path.rename
    (path / "old").mkdir(parents=True)

    def rename_aside_alone(self: Path, target: Path) -> Path:
        if target == path:
            raise OSError(errno.EIO, "a disk that fails")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", rename_aside_alone)
    with pytest.raises(OSError, match="a disk that fails"), files.new_folder(path):
        pass
    (aside,) = tmp_path.iterdir()
    assert names(aside) == ["old"]


def test_a_name_as_long_as_a_file_system_allows_can_be_written(tmp_path: Path) -> None:
    for name in ("译" * 83, "a" * 253):
        files.write_bytes(tmp_path / name, b"x")
        with files.new_folder(tmp_path / f"{name[:-1]}b"):
            pass
    assert len(names(tmp_path)) == 4


def test_a_link_in_the_place_of_a_folder_is_replaced_and_its_target_kept(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "precious").touch()
    (tmp_path / "link").symlink_to("target")
    (tmp_path / "dangling").symlink_to("nowhere")
    for name in ("link", "dangling"):
        with files.new_folder(tmp_path / name) as new:
            (new / "a").touch()
        assert not (tmp_path / name).is_symlink()
        assert (tmp_path / name / "a").is_file()
    assert (tmp_path / "target" / "precious").is_file()


def test_damage_is_listed_whole(tmp_path: Path) -> None:
    folder = tmp_path / "bundle"
    with files.new_folder(folder) as new:
        for name in ("kept", "changed", "missing"):
            (new / name).write_text(name, encoding="utf-8")
    (folder / "changed").write_text("Changed", encoding="utf-8")
    (folder / "missing").unlink()
    with pytest.raises(CheckpointError, match="is damaged: changed has changed; missing is missing; restore it"):
        files.verify_manifest(folder)


def test_a_folder_without_manifest_was_never_finished(tmp_path: Path) -> None:
    assert not files.is_complete(tmp_path)
    with pytest.raises(CheckpointError, match=r"has no manifest\.json: it was never finished"):
        files.verify_manifest(tmp_path)


@pytest.mark.parametrize("content", ["{", "[]", '{"a": 1}', "\udcff", "[" * 100_000])
def test_an_unreadable_manifest_is_no_traceback(tmp_path: Path, content: str) -> None:
    (tmp_path / files.MANIFEST).write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(
        CheckpointError, match=r"manifest\.json (cannot be read|does not map) .*; make the folder again"
    ):
        files.verify_manifest(tmp_path)


@pytest.mark.parametrize("name", ["../outside", "/etc/hostname"])
def test_a_manifest_cannot_point_outside_its_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / files.MANIFEST).write_text(json.dumps({name: "0" * 64}), encoding="utf-8")
    with pytest.raises(CheckpointError, match="points outside the folder"):
        files.verify_manifest(tmp_path)


def test_a_link_is_swapped_and_stays_relative(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / "checkpoints" / name).mkdir(parents=True)
        files.swap_link(tmp_path / "best", tmp_path / "checkpoints" / name)
        assert (tmp_path / "best").resolve() == (tmp_path / "checkpoints" / name).resolve()
    assert (tmp_path / "best").readlink() == Path("checkpoints/two")
    (tmp_path / ".tmp-best").symlink_to("left behind by a kill")
    files.swap_link(tmp_path / "best", tmp_path / "checkpoints" / "one")
    assert names(tmp_path) == ["best", "checkpoints"]


def test_remove_takes_whatever_is_there_and_spares_what_a_link_points_to(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "kept").touch()
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("folder")
    for name in ("file", "link", "nothing"):
        files.remove(tmp_path / name)
    assert names(tmp_path) == ["folder"]
    assert names(tmp_path / "folder") == ["kept"]
    files.remove(tmp_path / "folder")
    assert names(tmp_path) == []


def test_a_folder_whose_removal_is_killed_half_way_does_not_look_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(folder: Path) -> None:
        raise KeyboardInterrupt

    (tmp_path / "step-7" / "part").mkdir(parents=True)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", killed)
        with pytest.raises(KeyboardInterrupt):
            files.remove(tmp_path / "step-7")
    assert names(tmp_path) == [".tmp-removed-step-7"]
    (tmp_path / "step-7").mkdir()
    files.remove(tmp_path / "step-7")
    assert names(tmp_path) == []


def test_leftovers_of_a_killed_writer_are_removed(tmp_path: Path) -> None:
    (tmp_path / ".tmp-a").touch()
    (tmp_path / ".tmp-b").mkdir()
    (tmp_path / "kept").touch()
    files.remove_leftovers(tmp_path)
    assert names(tmp_path) == ["kept"]
    files.remove_leftovers(tmp_path / "nowhere")
    for left in (".tmp-99999999-a", f".tmp-{os.getpid()}-a"):
        (tmp_path / left).touch()
    files.remove_leftovers(tmp_path, is_ours=False)
    assert names(tmp_path) == [f".tmp-{os.getpid()}-a", "kept"]


def test_a_second_writer_is_refused_and_told_who_writes(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with (
        files.one_writer(folder),
        pytest.raises(TrainingError, match=f"is being written by process {os.getpid()}; wait for it"),
        files.one_writer(folder),
    ):
        pass
    with files.one_writer(folder):  # free again
        pass


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    program = (
        "import os, sys; from pathlib import Path; from yiwen.files import one_writer\n"
        "with one_writer(Path(sys.argv[1])): print('locked', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "locked\n"
        with pytest.raises(TrainingError, match=f"process {holder.pid}"), files.one_writer(tmp_path):
            pass
        holder.kill()
        holder.wait()
        with files.one_writer(tmp_path):
            assert (tmp_path / "lock").read_text(encoding="utf-8") == f"{os.getpid()}\n"


def test_a_folder_in_the_place_of_a_link_is_left_alone_and_named(tmp_path: Path) -> None:
    (tmp_path / "best").mkdir()
    with pytest.raises(
        CheckpointError, match="best is a folder where a link belongs: a copy that followed it; move it"
    ):
        files.swap_link(tmp_path / "best", tmp_path / "bundles")
    assert [path.name for path in tmp_path.iterdir()] == ["best"]


def test_what_is_published_is_forced_to_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forced: list[Path] = []
    sizes: list[int] = []
    monkeypatch.setattr(files, "fsync", forced.append)
    monkeypatch.setattr(os, "fsync", lambda descriptor: sizes.append(os.fstat(descriptor).st_size))
    files.write_text(tmp_path / "a.txt", "a")
    assert (sizes, forced) == ([1], [tmp_path])  # the file itself by its descriptor, with all that was written
    with files.new_folder(tmp_path / "bundle") as new:
        (new / "part").mkdir()
        (new / "part" / "b").touch()
    assert {new / "part" / "b", new / "part", new} <= set(forced)
    assert forced[-1] == tmp_path
    forced.clear()
    files.swap_link(tmp_path / "best", tmp_path / "bundle")
    assert forced == [tmp_path]


def test_what_can_be_written_is_known_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").touch(0o777)
    for path in (tmp_path / "file", tmp_path / "a.txt", tmp_path / "new" / "deep" / "a.txt", Path(os.devnull)):
        assert files.may_write(path)
    assert not files.may_write(tmp_path / "file" / "a.txt")


def test_a_file_that_is_protected_is_not_written_although_its_folder_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr("os.access", lambda path, mode: path != tmp_path / "file")  # root may write everywhere
    assert not files.may_write(tmp_path / "file")
    assert files.may_write(tmp_path / "another")
    monkeypatch.setattr("os.access", lambda path, mode: path == tmp_path / "file" or path == Path(os.devnull))
    assert files.may_write(Path(os.devnull))  # it is written to as it is, a file is replaced by another
    assert not files.may_write(tmp_path / "file")
    assert not files.may_write(tmp_path / "another")
