"""The command line: quick to start, plain about errors, exact in its exit codes."""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import ModuleType
from typing import NoReturn

import pytest
import typer
from commands import YIWEN
from rich.console import Console

from tiny_model import write_tiny_recipe
from yiwen import __main__ as entry
from yiwen import __version__, errors
from yiwen.cli import main as cli
from yiwen.cli.main import COMMANDS, app, main
from yiwen.stop import StopFlag

HEAVY = ["torch", "numpy", "pyarrow", "sentencepiece", "sacrebleu", "lxml"]
"""What a command may load, but not the asking for help."""

Failing = Callable[[BaseException], None]


@pytest.fixture
def fail_with(monkeypatch: pytest.MonkeyPatch) -> Failing:
    """Make every command line end in the error given."""

    def arrange(error: BaseException) -> None:
        def fail(**anything: object) -> NoReturn:
            raise error

        monkeypatch.setattr(cli, "app", fail)

    return arrange


def python(program: str, *arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, timeout=60, **options
    )


LISTING = """
import sys
before = set(sys.modules)
{program}
loaded = set(sys.modules) - before
others = sorted({{name.partition(".")[0] for name in loaded}} - set(sys.stdlib_module_names) - {{"yiwen"}})
print(len(loaded), *others, *sorted(name for name in loaded if name.startswith("yiwen.")))
"""


def loaded_by(program: str) -> tuple[int, set[str]]:
    """How many modules a program loads, and those of them that are not Python's own: packages, and our modules."""
    result = python(LISTING.format(program=program))
    assert result.returncode == 0, result.stderr
    n_modules, *names = result.stdout.split("\n")[-2].split()
    return int(n_modules), set(names)


def test_importing_yiwen_loads_nothing_but_itself() -> None:
    n_modules, names = loaded_by("import yiwen")
    assert names == set()
    assert n_modules < 50


def test_asking_for_help_loads_the_command_line_alone() -> None:
    n_modules, names = loaded_by("from yiwen.cli.main import main; assert main(['--help']) == 0")
    ours = {name for name in names if name.startswith("yiwen.")}
    assert {name for name in ours if not name.startswith("yiwen.cli")} == {"yiwen.errors"}
    assert names - ours <= {"annotated_doc", "click", "shellingham", "typer", "typing_extensions"}
    assert n_modules < 250  # each takes its time


def test_nothing_heavy_is_imported_for_the_help_of_a_command() -> None:
    """One process for all: what none of them has loaded at the end, none of them loads."""
    names = [command.__name__.replace("_", "-") for command in COMMANDS]
    program = f"""
import sys
from yiwen.cli.main import main
for name in {names}:
    assert main([name, "--help"]) == 0
    assert not [heavy for heavy in {HEAVY} if heavy in sys.modules], name
"""
    result = python(program)
    assert result.returncode == 0, result.stderr


COMMAND = (
    "import os; os.environ['YIWEN_RUNS'] = {runs!r}\nfrom yiwen.cli.main import main; assert main({arguments}) == 0"
)


def test_preparing_text_imports_no_torch(tmp_path: Path) -> None:
    arguments = ["prepare", str(write_tiny_recipe(tmp_path))]
    _, names = loaded_by(COMMAND.format(runs=str(tmp_path / "runs"), arguments=arguments))
    assert "yiwen.data.pipeline" in names
    assert not names & {"torch", "yiwen.runs"}, "some two seconds of start, and 180 MB"


def test_showing_a_recipe_and_listing_keys_imports_no_numpy(tmp_path: Path) -> None:
    for arguments in (["config", str(write_tiny_recipe(tmp_path))], ["keys", "list"]):
        _, names = loaded_by(COMMAND.format(runs=str(tmp_path / "runs"), arguments=arguments))
        assert "yiwen.recipe" in names
        assert "numpy" not in names


def test_the_version_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"yiwen {__version__}\n"


def test_the_installed_command_the_function_and_the_module_are_the_same() -> None:
    module = subprocess.run([sys.executable, "-m", "yiwen", "--version"], capture_output=True, text=True, check=False)
    for result in (python(YIWEN, "--version"), module):
        assert (result.returncode, result.stdout) == (0, f"yiwen {__version__}\n")


@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_help_reads_well_in_80_columns(
    command: Callable[..., object] | None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main([*([command.__name__.replace("_", "-")] if command else []), "--help"]) == 0
    text = capsys.readouterr().out
    assert max(len(line) for line in text.split("\n")) <= 80
    summaries = text.partition("\nCommands:\n")[2]
    assert "..." not in summaries, "a summary is cut off; make the first line of that docstring shorter"
    assert "Raises:" not in text
    assert "\x1b" not in text


def test_every_command_has_a_summary_and_stands_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    for command in COMMANDS:
        name = command.__name__.replace("_", "-")
        assert re.search(rf"^  {name} +[A-Z].*\.$", text, re.MULTILINE), name


def test_every_option_says_what_it_does() -> None:
    group = typer.main.get_command(app)
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        for parameter in command.params:
            if parameter.param_type_name == "option":
                assert getattr(parameter, "help", None), f"{name} {parameter.opts}"


@pytest.mark.parametrize("arguments", [["nope"], ["doctor", "--nope"], ["doctor", "surplus"], ["--nope"]])
def test_wrong_usage_exits_2_and_shows_the_way(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    message = capsys.readouterr().err
    assert "--help" in message
    assert "Error: " in message
    assert "Traceback" not in message


def test_a_mistyped_option_is_told_with_those_it_is_like(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "--out", "x"]) == 2
    assert "No such option: --out (Possible options: --output, --to)\n" in capsys.readouterr().err


def test_no_arguments_show_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    captured = capsys.readouterr()
    assert "Commands:" in captured.out + captured.err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.YiwenError("broken"), 1),
        (errors.TrainingError("broken"), 1),
        (errors.MissingDependencyError("broken"), 1),
        (errors.ConfigError("broken"), 2),
        (errors.DataError("broken"), 3),
        (errors.CheckpointError("broken"), 4),
    ],
)
def test_our_errors_are_one_message_and_their_own_exit_code(
    error: errors.YiwenError, code: int, fail_with: Failing, capsys: pytest.CaptureFixture[str]
) -> None:
    fail_with(error)
    assert main([]) == code
    captured = capsys.readouterr()
    assert captured.err == "error: broken\n"
    assert captured.out == ""


def test_a_message_is_printed_as_it_is(fail_with: Failing, capsys: pytest.CaptureFixture[str]) -> None:
    message = f"[bold]{'long ' * 40}/a/path[0] :smile: 译文\nsecond line"
    fail_with(errors.DataError(message))
    assert main([]) == 3
    assert capsys.readouterr().err == f"error: {message}\n"


@pytest.mark.parametrize(
    ("error", "message", "code"),
    [
        (errors.Stopped("stopped by SIGTERM during save", signum=15), "stopped by SIGTERM during save\n", 143),
        (errors.Stopped("stopped by SIGINT during save", signum=2), "stopped by SIGINT during save\n", 130),
    ],
)
def test_being_stopped_is_no_error(
    error: BaseException, message: str, code: int, fail_with: Failing, capsys: pytest.CaptureFixture[str]
) -> None:
    fail_with(error)
    assert main([]) == code
    assert capsys.readouterr().err == message


def test_ctrl_c_inside_a_command_exits_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted() -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr("yiwen.cli.doctor.examine", interrupted)
    assert main(["doctor"]) == 130
    assert capsys.readouterr().err == "stopped by SIGINT\n"


def test_a_full_disk_is_named_and_answered(fail_with: Failing, capsys: pytest.CaptureFixture[str]) -> None:
    fail_with(OSError(errno.ENOSPC, "No space left on device", "runs/x/model.safetensors"))
    assert main([]) == 1
    message = capsys.readouterr().err
    assert message.startswith(
        "error: no space left on the disk: runs/x/model.safetensors; free some, or write to another disk (runs"
    )


def test_a_used_up_quota_is_a_full_disk(fail_with: Failing, capsys: pytest.CaptureFixture[str]) -> None:
    fail_with(OSError(errno.EDQUOT, "Disk quota exceeded", "runs/x"))
    assert main([]) == 1
    assert "error: no space left on the disk: runs/x; free some, or" in capsys.readouterr().err


def test_of_a_copy_that_fails_what_was_to_be_written_is_named(
    fail_with: Failing, capsys: pytest.CaptureFixture[str]
) -> None:
    fail_with(OSError(errno.ENOSPC, "No space left on device", "from.spm", None, "to.spm"))
    assert main([]) == 1
    assert "no space left on the disk: to.spm;" in capsys.readouterr().err


def test_a_file_name_or_text_that_is_no_utf_8_is_named(fail_with: Failing, capsys: pytest.CaptureFixture[str]) -> None:
    fail_with(UnicodeEncodeError("utf-8", "t\udce9.tsv", 1, 2, "surrogates not allowed"))
    assert main([]) == 2
    assert capsys.readouterr().err == (
        "error: 't\\udce9.tsv' holds bytes that are not UTF-8; name files and write texts in it\n"
    )


@pytest.mark.parametrize(
    "error",
    [
        MemoryError("std::bad_alloc"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 7 bytes"),
        RuntimeError("CUDA out of memory. Tried to allocate 7 GiB"),
    ],
)
def test_memory_that_runs_out_is_answered(
    error: BaseException, fail_with: Failing, capsys: pytest.CaptureFixture[str]
) -> None:
    fail_with(error)
    assert main([]) == 1
    assert capsys.readouterr().err == (
        f"error: memory ran out, {error!r}; free some, raise `ulimit -v`, or use smaller batches "
        "(training.batch_tokens), a narrower beam\n"
    )


def test_ctrl_c_before_the_work_begins_is_told(fail_with: Failing, capsys: pytest.CaptureFixture[str]) -> None:
    fail_with(SystemExit(130))
    assert main([]) == 130
    assert capsys.readouterr().err == "stopped by SIGINT\n"


def test_other_system_errors_name_the_file(fail_with: Failing, capsys: pytest.CaptureFixture[str]) -> None:
    fail_with(PermissionError(errno.EACCES, "Permission denied", "/root/x"))
    assert main([]) == 1
    assert capsys.readouterr().err == (
        "error: Permission denied: /root/x; give one whose folder is there and that you may read or write\n"
    )
    fail_with(OSError(errno.ENOENT, "No such file or directory", f"/none/.tmp-{os.getpid()}.0a1b2c3d-x.toml"))
    assert main([]) == 1
    assert "No such file or directory: /none/x.toml; give one whose folder" in capsys.readouterr().err
    fail_with(OSError(errno.ENXIO, "No such device", "/root/x"))
    assert main([]) == 1
    assert "error: No such device: /root/x; YIWEN_TRACEBACK=1 shows where" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.ENOTDIR, "give one whose folder is there and that you may read or write"),
        (errno.ENOTEMPTY, "another process wrote the same at the same moment; run the same command again"),
        (errno.EISDIR, "give the path of a file"),
        (errno.EIO, "the disk, or the way to it, fails: look at the system's log, and use another one"),
        (errno.ENAMETOOLONG, "give a shorter name"),
        (errno.EFBIG, "write to a file system, and with a `ulimit -f`, that allows files of this size"),
        (errno.EMFILE, "let the process open more files: `ulimit -n 1024`"),
    ],
)
def test_what_a_user_can_change_is_answered(
    number: int, remedy: str, fail_with: Failing, capsys: pytest.CaptureFixture[str]
) -> None:
    fail_with(OSError(number, os.strerror(number), "a/b"))
    assert main([]) == 1
    assert capsys.readouterr().err == f"error: {os.strerror(number)}: a/b; {remedy}\n"


@pytest.mark.parametrize(("value", "shown"), [("1", True), ("0", False), ("", False)])
def test_a_traceback_is_shown_where_it_is_asked_for(
    value: str, shown: bool, fail_with: Failing, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("YIWEN_TRACEBACK", value)
    fail_with(errors.DataError("broken"))
    assert main([]) == 3
    message = capsys.readouterr().err
    assert ("Traceback (most recent call last)" in message) is shown
    assert message.endswith("error: broken\n")


def test_a_mistake_of_ours_is_not_hidden(fail_with: Failing) -> None:
    fail_with(ZeroDivisionError("a bug"))
    with pytest.raises(ZeroDivisionError, match="a bug"):
        main([])


@pytest.mark.skipif(os.name == "nt", reason="pipes break in another way on Windows")
@pytest.mark.parametrize(
    "output", ["print('line')", "sys.stdout.buffer.write(b'x' * 10_000_000)", "print('x' * 100, flush=True)"]
)
def test_a_reader_that_leaves_is_no_error(output: str) -> None:
    program = (
        "import sys, typer; from yiwen.cli import main as cli\n"
        f"def app(**anything):\n    sys.stdin.read()\n    {output}\n"
        "cli.app = app\n"
        "sys.exit(cli.main([]))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stdin.close()
        process.stdin = process.stdout = None
        assert process.stderr.read() == b""
        assert process.wait(timeout=30) == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")  # noqa: PTH110
def test_a_disk_that_is_full_at_the_last_flush_is_an_error() -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123
        command = [sys.executable, "-c", YIWEN, "--version"]
        result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert result.returncode == 1
    assert "error: no space left on the disk; free some" in result.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")  # noqa: PTH110
def test_the_exit_code_tells_what_happened_where_no_message_can_be_written() -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123
        result = subprocess.run(
            [sys.executable, "-c", YIWEN, "translate", "nosuch"], stdin=subprocess.DEVNULL, stderr=full
        )
    assert result.returncode == 4  # bad model


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")  # noqa: PTH110
@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_the_exit_code_tells_the_signal_where_no_message_can_be_written(signum: signal.Signals) -> None:
    program = f"""
import sys
import yiwen.cli.main as cli

cli.app = lambda **arguments: sys.exit({128 + signum})  # as the handler of the signal does
sys.exit(cli.main())
"""
    with open("/dev/full", "w") as full:  # noqa: PTH123
        result = subprocess.run([sys.executable, "-c", program], stderr=full)
    assert result.returncode == 128 + signum


def test_chinese_is_printed_whatever_the_locale_says_and_half_a_character_by_its_number() -> None:
    program = "import sys; from yiwen.cli.main import main; main(['--version']); print('译文\\udce9')"
    result = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"},
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.decode("utf-8").endswith("译文\\udce9\n")


@pytest.mark.skipif(os.name == "nt", reason="UTF-8 whatever the code page")
def test_arguments_and_names_are_utf_8_whatever_the_locale_says(tmp_path: Path) -> None:
    (tmp_path / "译文.toml").write_text("[data]\nlang = 1\n", encoding="utf-8")
    env = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-m", "yiwen", "config", "译文.toml"]
    result = subprocess.run(command, capture_output=True, env=env, cwd=tmp_path)
    assert result.returncode == 2
    assert result.stderr.decode("utf-8").startswith("error: 译文.toml: data.src_lang is missing")


@pytest.mark.skipif(os.name == "nt", reason="removes no folder that a process is in")
def test_a_current_folder_that_was_removed_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tmp_path.rmdir()
    assert main(["config"]) == 1
    assert capsys.readouterr().err == "error: the current folder is gone; `cd` into one that is there\n"


def test_a_terminal_without_a_size_is_one_of_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "0")
    assert main(["--version"]) == 0
    assert Console().width == 80


@pytest.mark.parametrize(("module", "is_ours"), [("torch", False), ("yiwen.analysis.inspection", True)])
def test_a_package_that_is_missing_is_named_with_its_cure(module: str, is_ours: bool) -> None:
    done = python(f"import sys; sys.modules[{module!r}] = None\n{YIWEN}", "inspect", "x", "text")
    cure = "error: this needs torch: pip install 'yiwen[train]' (import of torch halted; None in sys.modules); `yiwen"
    assert ("Traceback" in done.stderr, cure in done.stderr) == (is_ours, not is_ours)
    assert done.returncode == 1


def test_a_package_that_cannot_be_loaded_is_named_with_the_reason(tmp_path: Path) -> None:
    library = tmp_path / f"torch{EXTENSION_SUFFIXES[0]}"  # as good as one that lacks another library
    library.touch()
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{YIWEN}"
    done = python(program, "inspect", "x", "text")
    assert done.returncode == 1
    cure = f"pip install 'yiwen[train]' ({library}: file too short); `yiwen doctor` shows what else is missing"
    assert done.stderr == f"error: this needs torch: {cure}\n"
    done = python(program, "train", "demo-en-zh")
    assert f"training needs torch and pyarrow: pip install 'yiwen[train]' ({library}: file too short)" in done.stderr


def test_a_warning_tells_no_line_of_code(tmp_path: Path) -> None:
    program = f"from yiwen.analysis import plots; plots.FONTS = ('DejaVu Sans',)\n{YIWEN}"
    path = tmp_path / "masks.png"
    done = python(program, "plot", "masks", "--output", str(path))
    assert done.stdout == f"wrote {path}\n"
    assert re.fullmatch(rf"warning: {path}: boxes stand for letters no font has; write .*\n", done.stderr)


@pytest.mark.skipif(os.name == "nt", reason="no sh there")
@pytest.mark.parametrize(
    ("closed", "expected"),
    [
        ("<&-", (0, "'' and a result\n", "a note\n")),
        ("2>&-", (0, "'text' and a result\n", "")),
        (">&-", (1, "", "error: stdout is closed; give it a file, or /dev/null\n")),
        ("<&- >&- 2>&-", (1, "", "")),
    ],
)
def test_a_stream_that_is_closed_ends_in_no_traceback(closed: str, expected: tuple[int, str, str]) -> None:
    program = (
        "import sys; from yiwen.cli import main as cli\n"
        "def app(**anything):\n    print(repr(sys.stdin.read()), 'and a result')\n"
        "    print('a note', file=sys.stderr)\n"
        "cli.app = app\n"
        "sys.exit(cli.main([]))"
    )
    command = ["sh", "-c", f'exec "$0" -c "$1" {closed}', sys.executable, program]
    done = subprocess.run(command, input="text", capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == expected


@pytest.fixture
def usual_handlers() -> Iterator[None]:
    """Those that Python starts with, also where the tests run in the background; the old ones return."""
    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    before = {signum: signal.signal(signum, handler) for signum, handler in usual.items()}
    yield
    for signum, handler in before.items():
        signal.signal(signum, handler)


@pytest.mark.usefixtures("usual_handlers")
@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_the_command_is_still_imported_ends_in_no_traceback(
    signum: signal.Signals, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Interrupted(ModuleType):
        def __getattr__(self, name: str) -> None:
            assert callable(signal.getsignal(signum))  # else the signal would be the end of pytest
            signal.raise_signal(signum)

    monkeypatch.setattr(StopFlag, "early", None)
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "yiwen.cli.main", Interrupted("yiwen.cli.main"))
        assert entry.main() == 128 + signum
    assert capsys.readouterr().err == f"stopped by {signum.name}\n"


@pytest.mark.usefixtures("usual_handlers")
def test_ctrl_c_that_loading_swallows_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    def swallowing() -> int:
        with suppress(SystemExit):
            signal.raise_signal(signal.SIGINT)
        return int(bool(StopFlag()))

    monkeypatch.setattr(StopFlag, "early", None)
    monkeypatch.setattr(cli, "main", swallowing)
    assert entry.main() == 1
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # as a shell starts what runs in the background
    assert entry.main() == 1  # of before
    assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN


@pytest.mark.skipif(os.name == "nt", reason="Windows ends a process by a signal without asking it")
@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_a_command_that_polls_no_flag_is_told_and_leaves_no_half_of_a_file(
    signum: signal.Signals, tmp_path: Path
) -> None:
    program = f"""
import os
import signal
import sys
from yiwen.__main__ import main

signal.signal(signal.SIGINT, signal.default_int_handler)  # also where the tests run in the background
os.fsync = lambda descriptor: os.kill(os.getpid(), {signum:d})  # when all is written, and not yet in its place
sys.exit(main())
"""
    done = python(program, "plot", "masks", "--output", str(tmp_path / "masks.svg"))
    assert (done.returncode, done.stdout, done.stderr) == (128 + signum, "", f"stopped by {signum.name}\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="Windows ends a process by a signal without asking it")
@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_python_ends_changes_nothing_that_is_done(signum: signal.Signals) -> None:
    program = f"""
import os
import sys
from yiwen.__main__ import main

class Last:
    def __del__(self, kill=os.kill, me=os.getpid()):  # one of the last things that Python does
        kill(me, {signum:d})

last = Last()
sys.exit(main())
"""
    done = python(program, "--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"yiwen {__version__}\n", "")
