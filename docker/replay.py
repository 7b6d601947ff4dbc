"""Replay a Dockerfile without Docker: its steps in a clean Debian made by debootstrap, then a command in it.

    sudo python3 docker/replay.py docker/cpu.Dockerfile /var/tmp/yiwen-root --wheels wheels -- yiwen demo

Needs root, debootstrap and a Debian mirror. With --wheels, pip takes packages from that folder alone; fetched before by

    pip download --dest wheels --constraint constraints.txt '.[train,serve,notebooks]' hatchling

Handles what our files use: FROM debian, RUN, COPY, ENV, ARG, USER, WORKDIR; EXPOSE, VOLUME, ENTRYPOINT and CMD only
say how a container starts. Not a container: no limits, and the host's network.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

STARTS = ("EXPOSE", "VOLUME", "ENTRYPOINT", "CMD")
IGNORED = shutil.ignore_patterns(".git", ".venv", "runs", "site", "dist", "build", "built", "__pycache__", ".*_cache")


def steps(dockerfile: Path) -> list[tuple[str, str]]:
    """(instruction, argument) in order; comments left out, continued lines joined."""
    text = re.sub(r"\\\n\s*", "", dockerfile.read_text(encoding="utf-8"))
    lines = [line.strip() for line in text.split("\n")]
    parts = [line.split(maxsplit=1) for line in lines if line and not line.startswith("#")]
    return [(name.upper(), argument) for name, argument in parts]


class Root:
    """A Debian in a folder, and what the steps so far say about user, place and environment."""

    def __init__(self, folder: Path, wheels: Path | None) -> None:
        self.folder, self.wheels = folder, wheels
        self.user, self.place = "root", "/"
        self.environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}

    def run(self, command: str) -> None:
        """Run a shell command inside, as the user and at the place that the steps have set.

        Raises:
            subprocess.CalledProcessError: If it fails.
        """
        environment = dict(self.environment)
        if self.wheels is not None:
            environment |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "/wheels"}
            command = re.sub(r"--extra-index-url \S+", "", command)
        home = "/root" if self.user == "root" else f"/home/{self.user}"
        inside = ["chroot", f"--userspec={self.user}", str(self.folder), "sh", "-c", f"cd {self.place} && {command}"]
        subprocess.run(inside, check=True, env={**environment, "HOME": home})

    def step(self, name: str, argument: str, context: Path) -> None:
        """Do one instruction.

        Raises:
            ValueError: If it is none that this script knows.
        """
        match name:
            case "FROM":
                release = re.fullmatch(r"debian:(\w+)(-slim)?", argument)
                if release is None:
                    raise ValueError(f"FROM {argument}: only debian:RELEASE can be made without Docker")
                if not (self.folder / "etc").exists():
                    subprocess.run(["debootstrap", "--variant=minbase", release[1], str(self.folder)], check=True)
            case "RUN":
                self.run(argument)
            case "COPY":
                source, target = argument.split()
                inside = self.folder / target.lstrip("/")
                shutil.copytree(context / source, inside, ignore=IGNORED, dirs_exist_ok=True)
            case "ENV" | "ARG":
                key, _, value = argument.partition("=")
                self.environment[key] = value
            case "USER":
                self.user = argument
            case "WORKDIR":
                self.place = argument
            case _ if name not in STARTS:
                raise ValueError(f"{name} {argument}: this script does not know {name}")


def main() -> int:
    """Replay, then run the command; returns its exit status."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").partition("\n")[0], epilog="What follows -- is run inside at the end."
    )
    parser.add_argument("dockerfile", type=Path)
    parser.add_argument("root", type=Path, help="folder of the Debian; made where it does not exist")
    parser.add_argument("--wheels", type=Path, help="folder of packages for pip, instead of an index")
    arguments = sys.argv[1:]
    end = arguments.index("--") if "--" in arguments else len(arguments)
    options = parser.parse_args(arguments[:end])
    if os.geteuid() != 0:
        print("this needs root, for debootstrap and chroot", file=sys.stderr)
        return 2
    context = options.dockerfile.resolve().parents[1]
    root = Root(options.root.resolve(), options.wheels)
    root.folder.mkdir(parents=True, exist_ok=True)
    for name, argument in steps(options.dockerfile):
        print(f"── {name} {argument}", flush=True)
        root.step(name, argument, context)
        if name == "FROM":
            mount(root)
    try:
        if command := shlex.join(arguments[end + 1 :]):
            root.run(command)
    except subprocess.CalledProcessError as error:
        return error.returncode
    return 0


def mount(root: Root) -> None:
    """Give the Debian /dev/null and its like, names of hosts, and the wheels, as copies: nothing to unmount later."""
    for name in ("null", "zero", "random", "urandom"):
        subprocess.run(["cp", "--archive", "--no-clobber", f"/dev/{name}", str(root.folder / "dev")], check=True)
    (root.folder / "dev" / "shm").mkdir(mode=0o1777, exist_ok=True)
    for name in ("resolv.conf", "hosts"):
        shutil.copy(f"/etc/{name}", root.folder / "etc" / name)
    if root.wheels is not None:
        shutil.copytree(root.wheels, root.folder / "wheels", dirs_exist_ok=True)


if __name__ == "__main__":
    sys.exit(main())
