"""The command, as `yiwen` or `python -m yiwen`: that of the Python which runs it, whatever comes first on the PATH."""

import atexit
import signal
import sys


def main() -> int:
    """Run the command line; Ctrl-C while it is still being imported ends it as later, without a traceback."""
    try:
        from yiwen.stop import interrupt

        if signal.getsignal(signal.SIGINT) == signal.default_int_handler:  # else it is to be ignored
            signal.signal(signal.SIGINT, interrupt)
        from yiwen.cli.main import main as run
    except KeyboardInterrupt:
        print("stopped by SIGINT", file=sys.stderr)
        return 130
    for signum in (signal.SIGINT, signal.SIGTERM):  # what Python takes down at its end is no work to be stopped
        atexit.register(signal.signal, signum, signal.SIG_IGN)
    return run()


if __name__ == "__main__":
    raise SystemExit(main())
