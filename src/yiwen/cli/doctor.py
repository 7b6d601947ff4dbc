"""`yiwen doctor`: the machine, the versions, what is missing and how to get it."""

from __future__ import annotations

import json
import platform
import re
import shutil
from typing import Any

from yiwen import __version__
from yiwen.cli.options import AsJson


def doctor(as_json: AsJson = False) -> None:
    """Show the machine, the versions and what is missing."""
    report = examine()
    print(json.dumps(report, ensure_ascii=False) if as_json else "\n".join(_lines(report)))


def examine() -> dict[str, Any]:
    """Everything that `yiwen doctor` knows, as plain values (memory and disk in GiB)."""
    from yiwen import hardware, once
    from yiwen.recipe import runs_root

    versions, missing = _dependencies()
    runs = runs_root().absolute()
    existing = next(folder for folder in (runs, *runs.parents) if folder.is_dir())
    try:
        facts, chosen = hardware.describe(), hardware.in_words(hardware.choose())
        training = {"device": facts["device"], "native_bf16": facts["native_bf16"], "chosen": chosen}
    except (ImportError, OSError) as error:  # torch is missing, or a library that it needs
        training = {"obstacle": str(error)}
    return {
        "yiwen": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "machine": {
            "cpu": hardware.processor_name(),
            "cores": once.usable_cores(),
            "memory_gib": hardware.memory_gib(),
            "runs": str(runs),
            "disk_free_gib": round(shutil.disk_usage(existing).free / 2**30, 1),
        },
        "versions": versions,
        "missing": missing,
        "hardware": training,
    }


def _dependencies() -> tuple[dict[str, str | None], dict[str, list[str]]]:
    """Versions of all packages that yiwen names, and the missing ones by the extra that brings them."""
    import importlib.metadata  # here: every command imports this module

    versions: dict[str, str | None] = {}
    missing: dict[str, list[str]] = {}
    for requirement in importlib.metadata.requires("yiwen") or []:
        name = re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0]
        if name == "yiwen":  # the extra `all` is made of the others
            continue
        extra = re.search(r"extra\s*==\s*['\"]([^'\"]+)['\"]", requirement)
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = None
            missing.setdefault(extra[1] if extra else "", []).append(name)
    return dict(sorted(versions.items())), missing


def _lines(report: dict[str, Any]) -> list[str]:
    machine = report["machine"]
    memory = "unknown" if machine["memory_gib"] is None else f"{machine['memory_gib']} GiB"
    lines = [
        f"yiwen     {report['yiwen']}",
        f"python    {report['python']}",
        f"system    {report['system']}",
        f"cpu       {machine['cpu']}, {machine['cores']} cores",
        f"memory    {memory}",
        f"disk      {machine['disk_free_gib']} GiB free for {machine['runs']}",
    ]
    if obstacle := report["hardware"].get("obstacle"):
        lines.append(f"training  not possible: {obstacle}")
    else:
        lines.append(f"training  on {report['hardware']['device']}")
        lines += [f"          {part}" for part in report["hardware"]["chosen"].split("; ")]
    lines += ["", "packages", *(f"  {name:<18} {version or 'missing'}" for name, version in report["versions"].items())]
    for extra, names in sorted(report["missing"].items()):
        pip = f"pip install 'yiwen[{extra}]'" if extra else "pip install --force-reinstall yiwen"
        lines += ["", f"missing: {', '.join(names)}", f"  {pip}"]
    return lines
