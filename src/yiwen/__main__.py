"""The command, as `yiwen` or `python -m yiwen`: that of the Python which runs it, whatever comes first on the PATH."""

import atexit
import os
import signal
import sys


def main() -> int:
    """Run the command line; a signal while it is still being imported ends it as later, without a traceback."""
    # A locale of another encoding, in which arguments and names would be misread, unless somebody wants it so.
    if sys.getfilesystemencoding() != "utf-8" and "utf8" not in sys._xoptions:
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])
    try:
        from yiwen.stop import interrupt

        for signum, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL)):
            if signal.getsignal(signum) == usual:  # else it is to be ignored
                signal.signal(signum, interrupt)
        from yiwen.cli.main import main as run
    except (KeyboardInterrupt, SystemExit) as stopped:  # the first, where not even `interrupt` was there yet
        code = int(getattr(stopped, "code", 128 + signal.SIGINT))
        print(f"stopped by {signal.Signals(code - 128).name}", file=sys.stderr)
        return code
    for signum in (signal.SIGINT, signal.SIGTERM):  # what Python takes down at its end is no work to be stopped
        atexit.register(signal.signal, signum, signal.SIG_IGN)
    return run()


if __name__ == "__main__":
    raise SystemExit(main())
