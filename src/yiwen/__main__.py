"""The command, as `yiwen` or `python -m yiwen`: that of the Python which runs it, whatever comes first on the PATH."""

import sys


def main() -> int:
    """Run the command line; Ctrl-C while it is still being imported ends it as later, without a traceback."""
    try:
        from yiwen.cli.main import main as run
    except KeyboardInterrupt:
        print("stopped by SIGINT", file=sys.stderr)
        return 130
    return run()


if __name__ == "__main__":
    raise SystemExit(main())
