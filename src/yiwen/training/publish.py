"""The bundles of a run and the links to them. A link never points at nothing, whenever the run is killed.

runs/NAME/   best -> bundles/best-00000500   final -> bundles/final-00001000
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from yiwen.files import is_complete, remove, require_link, swap_link


def publish(run: Path, link: str, *, step: int, write: Callable[[Path], None]) -> None:
    """Let `write` make the bundle of this step, then point `best` or `final` at it; one that is there stays."""
    folder = _folder(run, link, step)
    if not is_complete(folder):  # else it may hold an export by now
        write(folder)
    swap_link(run / link, folder)


def remove_others(run: Path, link: str, *, step: int) -> None:
    """Remove the bundles of all other steps."""
    for bundle in {*(run / "bundles").glob(f"{link}-{8 * '[0-9]'}")} - {_folder(run, link, step)}:
        remove(bundle)


def restore_best(run: Path, *, step: int) -> bool:
    """Point `best` where the checkpoint says, at the bundle of `step` (0: there is none yet); True if it is there.

    A run that was killed after a validation, before the checkpoint behind it, has a later `best` than the checkpoint
    knows of. It is made again when training comes by; until then it would be removed under the link.
    """
    require_link(run / "final")  # refused now, not behind the last update
    if is_there := is_complete(_folder(run, "best", step)):
        swap_link(run / "best", _folder(run, "best", step))
    elif (run / "best").is_symlink():  # a folder, as a copy makes of it, is no run's: the next `best` is refused there
        remove(run / "best")
    remove_others(run, "best", step=step)
    return is_there


def _folder(run: Path, link: str, step: int) -> Path:
    return run / "bundles" / f"{link}-{step:08d}"
