"""`python -m yiwen`: the command of the Python that runs it, whatever stands first on the PATH."""

from yiwen.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
