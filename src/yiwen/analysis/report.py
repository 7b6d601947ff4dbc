"""An inspection as a file: HTML, JSON or a picture. The page has everything inside and fetches nothing.

Maps travel as bytes, deflated: 512 x 512 weights for six layers of eight heads are 12 MB as they are, and more than
60 MB as numbers in JSON. The page draws each as one picture, which the browser stretches: that stays smooth.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from pathlib import Path
from string import Template
from typing import Any, cast

import numpy as np

from yiwen.analysis import plots
from yiwen.analysis.attention import between_words
from yiwen.analysis.inspection import MAX_SALIENCY, Inspection
from yiwen.errors import ConfigError
from yiwen.files import require_place, write_json, write_text


def require_report(path: Path) -> None:
    """Make sure, before anything is computed or written, that a report can be.

    Raises:
        ConfigError: If the name ends in something else than .html, .json, .svg or .png, or may not be written.
    """
    if path.suffix not in (".html", ".json", ".svg", ".png"):
        raise ConfigError(f"{path} ends in {path.suffix!r}; a report is .html, .json, .svg or .png")
    require_place(path, name="--output")


def write_report(seen: Inspection, path: Path) -> None:
    """Write a report whose form the end of the name decides.

    Raises:
        ConfigError: As in `require_report`.
        MissingDependencyError: If a picture is asked for and matplotlib is not installed.
    """
    require_report(path)
    match path.suffix:
        case ".html":
            write_text(path, to_html(seen))
        case ".json":
            write_json(path, seen.to_json())
        case _:
            plots.save(plots.sentence(seen), path)


def to_html(seen: Inspection) -> str:
    """The whole page."""
    folder = Path(__file__).with_name("page")
    markup, style, script = ((folder / f"inspect.{kind}").read_text("utf-8") for kind in ("html", "css", "js"))
    data = json.dumps(_data(seen), ensure_ascii=False).replace("<", "\\u003c")  # no text of anybody's ends the element
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return Template(markup).substitute(style=style, script=script, data=data, hash=digest)


def _data(seen: Inspection) -> dict[str, Any]:
    maps = {name: _packed(np.rint(weights * 255)) for name, weights in seen.attention.items()}
    links: dict[str, Any] = {"alignment": [list(link) for link in seen.alignment.links]}
    for name, weights in (("erasure", seen.erasure), ("gradient", seen.gradient)):
        if weights is not None:
            scaled = _scaled(weights)
            maps[name] = _packed(np.rint(scaled * 127 + 128)[None, None])
            links[name] = _links(_scaled(between_words(scaled[:-1, :-1], *(cut.first for cut in seen.cuts))))
    left_out = "" if seen.erasure is not None else f"saliency is left out: a side has more than {MAX_SALIENCY} subwords"
    return {**seen.to_json(with_maps=False), "maps": maps, "links": links, "left_out": left_out}


def _scaled(rows: np.ndarray) -> np.ndarray:
    """Each row by its largest: what stands for several subwords would else be more than all of it."""
    return cast("np.ndarray", rows / np.maximum(np.abs(rows).max(axis=1, keepdims=True), 1e-9))


def _packed(values: np.ndarray) -> dict[str, Any]:
    """Whole numbers from 0 to 255."""
    content = zlib.compress(values.astype(np.uint8).tobytes(), level=1)
    return {"shape": values.shape, "bytes": base64.b64encode(content).decode()}


def _links(weights_JI: np.ndarray) -> list[list[float]]:
    """[source word, target word, weight] of all that count for something."""
    return [[i, j, round(float(weights_JI[j, i]), 3)] for i, j in np.argwhere(weights_JI.T >= 0.05).tolist()]
