"""Reports of an inspection: the terminal's, the page's, JSON and pictures."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import io
import json
import re
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.cells import cell_len
from rich.console import Console

from tiny_model import TinyRun
from yiwen.analysis import plots, terminal
from yiwen.analysis.inspection import Inspection, inspect_sentence
from yiwen.analysis.report import to_html, write_report
from yiwen.analysis.terminal import show
from yiwen.bundle import open_bundle
from yiwen.errors import ConfigError


@pytest.fixture(scope="module")
def seen(tiny_run: TinyRun) -> Inspection:
    sentence = (tiny_run.recipe.parent / "test.en").read_text(encoding="utf-8").split("\n")[1]
    return inspect_sentence(open_bundle(tiny_run.best), sentence)


def shown(seen: Inspection) -> str:
    file = io.StringIO()
    show(seen, Console(file=file, width=80))
    return file.getvalue()


def test_the_terminal_shows_every_part_in_80_columns(seen: Inspection) -> None:
    text = shown(seen)
    assert max(cell_len(line) for line in text.split("\n")) <= 80
    assert "\x1b" not in text
    for part in (
        "Results of the search, best first",
        "Why the first one won",
        "The tree: where hypotheses that ended part ways",
        "Word alignment",
        "Attention of the alignment head: layer 1",
        "Erasure",
        "Gradient x input",
        "Heads: entropy in bits",
        "What else could have come next",
    ):
        assert f"── {part}" in text
    assert seen.source in text
    assert "◀ won" in text
    assert "encoder 1" in text
    assert re.search(r"head 1 +head 2\b(?!.*head 3)", text)
    assert text.count("│") > 20  # three pictures


def test_a_winner_that_the_limit_cut_stands_in_the_tree_too(seen: Inspection) -> None:
    *path, end = seen.winner
    assert seen.tree[end].fate == "ended"
    tree = [dataclasses.replace(node, fate="dropped") if node.fate == "ended" else node for node in seen.tree]
    text = " ".join(shown(dataclasses.replace(seen, tree=tree, winner=path)).split())
    assert " ".join(seen.node_tokens[number] for number in path) + " ◀ won" in text


def test_heads_that_there_is_no_room_for_are_counted(seen: Inspection) -> None:
    many = {name: np.repeat(weights, 8, axis=1) for name, weights in seen.attention.items()}
    importance = {name: np.repeat(weights, 8, axis=1) for name, weights in seen.importance.items()}
    text = shown(dataclasses.replace(seen, attention=many, importance=importance))
    assert "importance (0 to 1); first 8 of 16" in text
    assert max(cell_len(line) for line in text.split("\n")) <= 80
    assert "; first" not in shown(seen)


def test_a_head_that_looks_a_step_late_is_said_to(seen: Inspection) -> None:
    late = dataclasses.replace(seen, place=dataclasses.replace(seen.place, is_late=True))
    assert re.search(
        r"Attention of the alignment head: layer \d, (head \d|mean of its heads), read a row below", shown(late)
    )
    assert "read a row below" not in shown(
        dataclasses.replace(seen, place=dataclasses.replace(seen.place, is_late=False))
    )


def test_a_given_translation_has_no_search_to_show(seen: Inspection) -> None:
    given = dataclasses.replace(seen, candidates=[], tree=[], winner=[], gradient=None, erasure=None)
    text = shown(given)
    assert "Results of the search" not in text
    assert "Erasure" not in text


def test_pictures_of_long_sentences_are_left_to_the_page(seen: Inspection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "MAX_PICTURED", 3)
    assert "longer than 3 subwords: look at it with --output report.html" in shown(seen)


def test_words_without_a_link_are_named(seen: Inspection) -> None:
    bare = dataclasses.replace(seen, alignment=dataclasses.replace(seen.alignment, links=()))
    text = shown(bare)
    assert "← nothing" in text
    assert f"not linked: {seen.source.split()[0]}" in text


def data_of(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page)
    assert found is not None
    table: dict[str, Any] = json.loads(found[1])
    return table


def test_the_page_holds_everything_and_fetches_nothing(seen: Inspection) -> None:
    page = to_html(seen)
    assert re.findall(r"""(?:src|href)=["']([^"']*)""", page) == ["data:,"]
    assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org/2000/svg)", page)
    assert "innerHTML" not in page
    script = page.split("<script>")[1].split("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page
    data = data_of(page)
    assert data["target"] == seen.target
    for kind, weights in seen.attention.items():
        values = np.frombuffer(zlib.decompress(base64.b64decode(data["maps"][kind]["bytes"])), np.uint8)
        assert data["maps"][kind]["shape"] == list(weights.shape)
        np.testing.assert_allclose(values.reshape(weights.shape) / 255, weights, atol=0.5 / 255 + 1e-6)
    assert data["maps"]["erasure"]["shape"] == [1, 1, *seen.attention["cross"].shape[2:]]
    assert data["links"]["alignment"] == [[i, j, pytest.approx(w, abs=1e-4)] for i, j, w in seen.alignment.links]


def test_a_word_of_several_subwords_counts_for_no_more_than_the_largest(seen: Inspection) -> None:
    assert seen.erasure is not None
    links = data_of(to_html(dataclasses.replace(seen, erasure=np.ones_like(seen.erasure))))["links"]["erasure"]
    assert max(weight for *_, weight in links) == 1.0
    assert len(seen.cuts[0].ids) > len(seen.cuts[0].first)  # some word has more than one


def test_a_picture_says_that_the_head_looks_a_step_late(seen: Inspection) -> None:
    late = dataclasses.replace(seen, place=dataclasses.replace(seen.place, is_late=True))
    assert plots.sentence(late).axes[0].get_title() == "attention, read a row below"


def test_no_text_can_leave_its_place_in_the_page(seen: Inspection) -> None:
    evil = "</script><img src=x onerror=alert(1)>$data${hash}<!--"
    page = to_html(dataclasses.replace(seen, source=evil, verdict=evil))
    assert page.count("</script>") == to_html(seen).count("</script>")
    assert "<img" not in page
    assert data_of(page)["source"] == evil


def test_the_page_of_a_long_sentence_says_what_is_left_out(seen: Inspection) -> None:
    data = data_of(to_html(dataclasses.replace(seen, gradient=None, erasure=None)))
    assert data["left_out"] == "saliency is left out: a side has more than 128 subwords"
    assert set(data["maps"]) == {"encoder", "decoder", "cross"}
    assert data_of(to_html(seen))["left_out"] == ""


def test_the_end_of_the_name_decides_the_form(seen: Inspection, tmp_path: Path) -> None:
    for end in ("html", "json", "svg", "png"):
        write_report(seen, tmp_path / f"report.{end}")
    assert (tmp_path / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["source"] == seen.source
    picture = (tmp_path / "report.svg").read_text(encoding="utf-8")
    assert all(f">{word}<" in picture for word in seen.source.removesuffix(".").split())  # text stays text
    assert (tmp_path / "report.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ConfigError, match=r"report\.pdf ends in '\.pdf'; a report is \.html, \.json, \.svg or \.png"):
        write_report(seen, tmp_path / "report.pdf")


def test_a_word_between_dollars_is_drawn_as_it_is(seen: Inspection, tmp_path: Path) -> None:
    """Matplotlib would set it as mathematics, and could not set this one at all."""
    tokens = ["▁a", "▁$\\frac$", *seen.src_tokens[2:]]
    write_report(dataclasses.replace(seen, src_tokens=tokens), tmp_path / "report.svg")
    assert ">$\\frac" in (tmp_path / "report.svg").read_text(encoding="utf-8")
