"""Damage to the files of a folder, of every kind that a disk, a copy or a stranger may do."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path


def mutants(whole: Path, n: int, *, seed: int) -> Iterator[tuple[Path, str]]:
    """Copies of a folder with one file that is missing, cut, changed by a bit or longer, and the name of that file."""
    rng = random.Random(seed)
    for number in range(n):
        folder = whole.with_name("mutant")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(whole, folder)
        victim = rng.choice(sorted(folder.iterdir()))
        content = bytearray(victim.read_bytes())
        match number % 4:
            case 0:
                victim.unlink()
            case 1:
                victim.write_bytes(content[: rng.randrange(len(content) - 1)])
            case 2:
                content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
                victim.write_bytes(content)
            case 3:
                victim.write_bytes(content + b"x")
        yield folder, victim.name
