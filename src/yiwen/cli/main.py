"""The `yiwen` command: registers one thin file per command and turns errors into messages and exit codes.

Command modules import nothing heavy at their top, so that `yiwen --help` answers at once. Exit codes: 0 done,
1 failed, 2 wrong usage or recipe, 3 bad data, 4 bad model or checkpoint, 5 faults told by --strict, 130 and 143
stopped by a signal.
"""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Annotated, Any, Final

import typer

from yiwen import __version__
from yiwen.cli.average import average
from yiwen.cli.backtranslate import backtranslate
from yiwen.cli.classify import classify
from yiwen.cli.config import config
from yiwen.cli.demo import demo
from yiwen.cli.distil import distil
from yiwen.cli.doctor import doctor
from yiwen.cli.embed import embed
from yiwen.cli.evaluate import evaluate
from yiwen.cli.export import export
from yiwen.cli.inspect import inspect
from yiwen.cli.keys import keys
from yiwen.cli.new import new
from yiwen.cli.package import package
from yiwen.cli.plot import plot
from yiwen.cli.prepare import prepare
from yiwen.cli.score import score
from yiwen.cli.serve import serve
from yiwen.cli.sweep import sweep
from yiwen.cli.tag import tag
from yiwen.cli.train import train
from yiwen.cli.translate import translate
from yiwen.cli.translate_file import translate_file
from yiwen.errors import Stopped, YiwenError

# The order of `yiwen --help`, which is the order of the work.
COMMANDS: Final[tuple[Callable[..., Any], ...]] = (
    new, prepare, train, sweep, translate, translate_file, classify, tag, embed, evaluate, score, inspect, plot,
    average, export, package, serve, keys, distil, backtranslate, demo, config, doctor,
)  # fmt: skip

_NO_ACCESS: Final = "give one whose folder is there and that you may read or write"
_FULL: Final = "free some, or write to another disk (runs are in the folder YIWEN_RUNS), and run the same command again"
_REMEDIES: Final = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), _FULL),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR), _NO_ACCESS),
    errno.EIO: "the disk, or the way to it, fails: look at the system's log, and use another one",
    errno.ENOTEMPTY: "another process wrote the same at the same moment; run the same command again",
    errno.EISDIR: "give the path of a file",
    errno.ENAMETOOLONG: "give a shorter name",
    errno.EFBIG: "write to a file system, and with a `ulimit -f`, that allows files of this size",
    errno.EMFILE: "let the process open more files: `ulimit -n 1024`",
}
"""What to do about an error of the system."""
_OUT_OF_MEMORY: Final = ("allocate memory", "out of memory", "not enough memory")
"""What PyTorch and CTranslate2 say, for Python's MemoryError."""

# Plain help, not rich's boxes: it starts twice as fast and reads well in 80 columns and in a pipe.
app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"yiwen {__version__}")
        raise typer.Exit


_VERSION: Final = typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")


@app.callback()
def root(version: Annotated[bool, _VERSION] = False) -> None:
    """Turn parallel text into a translator you own.

    Start with `yiwen demo`. For text of your own: `yiwen new` writes a recipe,
    `yiwen train` makes a model, `yiwen translate` and `yiwen evaluate` use it.

    YIWEN_RUNS is the folder for models (runs/ where it is not set);
    YIWEN_TRACEBACK=1 shows where an error came from.
    """


for _command in COMMANDS:
    app.command()(_command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line; returns the exit code and never lets an expected error end in a traceback."""
    # What the caller has closed is None; opened here, its number goes to no other file that is opened later.
    sys.stdin = sys.stdin or open(os.devnull)  # noqa: PTH123, SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: PTH123, SIM115
    if sys.stdout is None:
        return _report(OSError(), "stdout is closed; give it a file, or /dev/null", code=1)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal of another code page could not show Chinese
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        os.getcwd()  # noqa: PTH109  nothing else says whether it is there; oneMKL would end the process
    except OSError as error:
        return _report(error, "the current folder is gone; `cd` into one that is there", code=1)
    if os.environ.get("COLUMNS") == "0":  # of a terminal without a size: nothing would be shown
        del os.environ["COLUMNS"]
    # The line of code that warns says nothing to who typed a command.
    warnings.formatwarning = lambda message, *place, **more: f"warning: {message}\n"
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader left, as in `yiwen translate ... | head`; Python must not flush again
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:  # the disk may be full only when the last lines are flushed
        return _report(error, _os_error_message(error), code=1)
    return code


def _run(arguments: Sequence[str] | None) -> int:
    try:
        app(args=None if arguments is None else list(arguments), prog_name="yiwen")
    except SystemExit as done:
        # Typer ends with 0, or with 2 once it has explained the usage; at a signal it ends without a word.
        if done.code in (128 + signal.SIGINT, 128 + signal.SIGTERM):
            return _report(done, f"stopped by {signal.Signals(done.code - 128).name}", code=done.code, is_error=False)
        return done.code if isinstance(done.code, int) else 0
    except YiwenError as error:
        return _report(error, str(error), code=error.exit_code, is_error=not isinstance(error, Stopped))
    except ImportError as error:
        if error.name is None or error.name.partition(".")[0] == "yiwen":
            raise
        cure = f"pip install 'yiwen[train]' ({error}); `yiwen doctor` shows what else is missing"
        return _report(error, f"this needs {error.name}: {cure}", code=1)
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and not any(words in str(error) for words in _OUT_OF_MEMORY):
            raise
        cure = "free some, raise `ulimit -v`, or use smaller batches (training.batch_tokens), a narrower beam"
        return _report(error, f"memory ran out, {error!r}; {cure}", code=1)
    except UnicodeEncodeError as error:
        if error.reason != "surrogates not allowed":
            raise
        name = error.object[max(0, error.start - 40) : error.end + 40]
        return _report(error, f"{name!r} holds bytes that are not UTF-8; name files and write texts in it", code=2)
    return 0


def _os_error_message(error: OSError) -> str:
    from yiwen.files import meant

    name = error.filename2 or error.filename  # of a copy, what was written
    where = f": {meant(str(name))}" if name else ""
    what = "no space left on the disk" if error.errno in (errno.ENOSPC, errno.EDQUOT) else error.strerror or error
    return f"{what}{where}; {_REMEDIES.get(error.errno or 0, 'YIWEN_TRACEBACK=1 shows where it happened')}"


def _report(error: BaseException, message: str, *, code: int, is_error: bool = True) -> int:
    from rich.console import Console
    from rich.text import Text

    if os.environ.get("YIWEN_TRACEBACK", "0") not in ("", "0"):
        traceback.print_exception(error)
    with suppress(OSError):  # where nothing can be said the exit code still tells the truth
        # Never wrapped: a path broken at column 80 can be neither copied nor searched for.
        Console(stderr=True, soft_wrap=True).print(Text.assemble(("error: ", "bold red") if is_error else "", message))
    return code
