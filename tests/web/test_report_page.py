"""The report of `yiwen inspect` in a browser: it works from a file, at every width, for a sentence of any length."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from browsing import Web
from playwright.sync_api import Page, expect

from tiny_model import TinyRun
from yiwen.analysis import plots
from yiwen.analysis.inspection import Inspection, inspect_sentence
from yiwen.analysis.report import to_html
from yiwen.bundle import open_bundle
from yiwen.model.config import AlignmentHead

pytestmark = pytest.mark.web

READY = "html[data-ready]"
MOVED = """async (node) => {
    for (let frame = 0; frame < 300 && !node.scrollLeft; frame++) await new Promise(requestAnimationFrame);
    return node.scrollLeft;
}"""
"""How far a box has been moved, as soon as it has been."""


@pytest.fixture(scope="module")
def seen(tiny_run: TinyRun) -> Inspection:
    sentence = (tiny_run.recipe.parent / "test.en").read_text(encoding="utf-8").split("\n")[0]
    return inspect_sentence(open_bundle(tiny_run.best), sentence)


@pytest.fixture(scope="module")
def report(seen: Inspection, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(to_html(seen), encoding="utf-8")
    return f"file://{path}"


def ink(page: Page) -> int:
    """Pixels of the large map that are not blank, once what was asked for is painted."""
    counted: int = page.evaluate("""async () => {
        await new Promise(requestAnimationFrame);
        const map = document.getElementById("map");
        const pixels = map.getContext("2d").getImageData(0, 0, map.width, map.height).data;
        return pixels.filter((value, i) => i % 4 === 3 && value).length;
    }""")
    return counted


@pytest.mark.parametrize("width", [80, 320, 768, 1280, 1600])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_everything_is_there_at_every_width(width: int, theme: str, web: Web, report: str, seen: Inspection) -> None:
    page = web.open(report, viewport={"width": width, "height": 900}, color_scheme=theme)
    page.wait_for_selector(READY)
    expect(page.locator("#source")).to_have_text(seen.source)
    expect(page.locator("#target")).to_have_text(seen.target)
    expect(page.locator("#verdict")).to_have_text(seen.verdict)
    expect(page.locator("#candidates tbody tr")).to_have_count(5)
    expect(page.locator("#next tbody tr")).to_have_count(len(seen.tgt_tokens))
    expect(page.locator(".head canvas")).to_have_count(2)  # one layer of two heads
    assert ink(page) > 100
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_keeps_the_rules_of_accessibility(theme: str, web: Web, report: str) -> None:
    page = web.open(report, color_scheme=theme)
    page.wait_for_selector(READY)
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


def test_forced_colours_leave_what_is_only_a_colour(web: Web, report: str) -> None:
    page = web.open(report, forced_colors="active")
    page.wait_for_selector(READY)
    expect(page.locator("#source .word").first).to_have_css("forced-color-adjust", "none")
    shade = page.locator(".chance i").first.evaluate("(node) => getComputedStyle(node).backgroundColor")
    assert shade == "rgb(45, 82, 189)"
    expect(page.locator(".head[aria-pressed=true]")).to_have_css("outline-style", "solid")


def test_every_table_that_may_be_wider_than_a_phone_is_moved_from_the_keyboard(web: Web, report: str) -> None:
    page = web.open(report, viewport={"width": 320, "height": 800})
    page.wait_for_selector(READY)
    n_wide = 0
    for box in page.locator(".scroll").all():
        box.focus()
        expect(box).to_be_focused()
        assert box.get_attribute("tabindex") == "0"
        if box.evaluate("(node) => node.scrollWidth > node.clientWidth"):
            n_wide += 1
            page.keyboard.press("ArrowRight")
            assert box.evaluate(MOVED) > 0
    assert n_wide > 0


def test_pointing_at_a_word_lights_up_its_counterparts(web: Web, report: str, seen: Inspection) -> None:
    page = web.open(report)
    page.wait_for_selector(READY)
    i, j, _ = max(seen.alignment.links, key=lambda link: link[2])
    word = page.locator("#target .word").nth(j)
    word.hover()
    start, end = seen.alignment.src[i]
    expect(page.locator("#words-readout")).to_contain_text(seen.source[start:end])
    lit = page.locator("#source .word").nth(i)
    assert float(lit.evaluate("word => word.style.getPropertyValue('--weight')")) > 0
    by_alignment = page.locator("#words-readout").inner_text()
    erasure = page.get_by_role("group", name="What the links come from").get_by_role("button", name="Erasure")
    erasure.click()
    expect(erasure).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#words-readout")).not_to_have_text(by_alignment)
    expect(page.locator("#words-readout")).to_contain_text(f"{seen.target[slice(*seen.alignment.tgt[j])]} — ")


def test_every_map_can_be_chosen_read_and_moved(web: Web, report: str, seen: Inspection) -> None:
    web.expected = ("Canvas2D: Multiple readback",)  # by `ink`
    page = web.open(report)
    page.wait_for_selector(READY)
    for name, kind in (("Source at itself", "encoder"), ("Target at itself", "decoder"), ("Erasure", "erasure")):
        page.locator("#kinds").get_by_role("button", name=name).click()
        assert ink(page) > 100, kind
    page.locator("#kinds").get_by_role("button", name="Target looks at source").click()
    page.get_by_role("button", name="Layer 1, head 2").click()
    bits, weight = seen.entropy["cross"][0, 1], seen.importance["cross"][0, 1]
    expect(page.locator("#map-title")).to_contain_text(f"entropy {bits:.1f} bits · importance {weight:.2f}")
    page.locator("#map").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    said = page.locator("#map-readout").inner_text()
    assert f"{seen.tgt_tokens[1].replace('▁', '')} (2)" in said
    share = float(said.rpartition(": ")[2].removesuffix(" %"))
    assert share == pytest.approx(100 * float(seen.attention["cross"][0, 1, 1, 1]), abs=0.75)
    before = ink(page)
    page.get_by_role("button", name="Larger").click()
    assert ink(page) != before
    page.get_by_role("button", name="Whole map").click()
    assert ink(page) == before


@pytest.mark.parametrize(
    ("head", "said"), [(1, "the alignment head"), (None, "the mean of this layer’s heads aligns the words")]
)
def test_a_map_says_where_the_alignment_comes_from(
    head: int | None, said: str, web: Web, seen: Inspection, tmp_path: Path
) -> None:
    late = replace(seen, place=AlignmentHead(layer=0, head=head, is_late=True))
    path = tmp_path / "report.html"
    path.write_text(to_html(late), encoding="utf-8")
    page = web.open(f"file://{path}")
    page.wait_for_selector(READY)
    page.get_by_role("button", name="Layer 1, head 2").click()
    expect(page.locator("#map-title")).to_contain_text(f" · {said}, read a row below")
    page.locator("#kinds").get_by_role("button", name="Source at itself").click()
    expect(page.locator("#map-title")).not_to_contain_text(said)


def test_a_map_is_moved_only_while_the_pointer_is_held(web: Web, report: str) -> None:
    page = web.open(report)
    page.wait_for_selector(READY)
    page.get_by_role("button", name="Larger").click()
    page.get_by_role("button", name="Larger").click()
    page.locator("#map").scroll_into_view_if_needed()
    box = page.locator("#map").bounding_box()
    assert box is not None
    x, y = box["x"] + 0.6 * box["width"], box["y"] + 0.6 * box["height"]
    page.mouse.move(x, y)
    cell = page.locator("#map-readout").inner_text()
    page.mouse.down()
    page.mouse.move(x - 60, y - 60)
    expect(page.locator("#map-readout")).to_have_text(cell)
    # What the browser takes away (for a gesture, a menu) is held no longer.
    page.evaluate("document.getElementById('map').releasePointerCapture(1)")
    page.mouse.move(x - 120, y - 120)
    expect(page.locator("#map-readout")).not_to_have_text(cell)


def test_dropped_hypotheses_are_shown_on_demand(web: Web, report: str, seen: Inspection) -> None:
    page = web.open(report)
    page.wait_for_selector(READY)
    kept = sum(node.fate != "dropped" for node in seen.tree)
    expect(page.locator("#tree path")).to_have_count(kept)
    page.get_by_label("Show those that were dropped").check()
    expect(page.locator("#tree path")).to_have_count(len(seen.tree))
    expect(page.locator("#tree path.won")).to_have_count(len(seen.winner))


def test_512_subwords_on_both_sides_are_one_picture_a_head(
    web: Web, seen: Inspection, tmp_path_factory: pytest.TempPathFactory
) -> None:
    n, layers, heads = 512, 6, 8
    rng = np.random.default_rng(1)

    def maps(rows: int, columns: int) -> np.ndarray:
        one = rng.dirichlet(np.full(columns, 0.1), size=rows).astype(np.float32)
        return np.stack(
            [[np.roll(one, layer * heads + head, axis=1) for head in range(heads)] for layer in range(layers)]
        )

    tokens = [f"▁word{i}" for i in range(n)]
    scores = {name: np.ones((layers, heads)) for name in seen.importance}
    long = replace(
        seen,
        src_tokens=tokens,
        tgt_tokens=tokens,
        tgt_inputs=tokens,
        attention={name: maps(n, n) for name in seen.attention},
        importance=scores,
        log_probs=[-0.1] * n,
        alternatives=[[("▁word", 0.5)]] * n,
        gradient=None,
        erasure=None,
    )
    path = tmp_path_factory.mktemp("long") / "long.html"
    path.write_text(to_html(long), encoding="utf-8")
    assert path.stat().st_size < 40_000_000
    page = web.open(f"file://{path}")
    page.wait_for_selector(READY, timeout=120_000)
    expect(page.locator("header")).to_contain_text("saliency is left out: a side has more than 128 subwords")
    expect(page.locator(".head canvas")).to_have_count(layers * heads)
    # Whatever is shown of it, drawing takes one picture and the labels in sight, not 262,144 rectangles.
    drawn = page.evaluate("""async () => {
        const counts = {drawImage: 0, fillText: 0, fillRect: 0};
        const context = document.getElementById("map").getContext("2d");
        for (const name of Object.keys(counts)) {
            const before = context[name].bind(context);
            context[name] = (...given) => { counts[name]++; return before(...given); };
        }
        const box = document.getElementById("map").getBoundingClientRect();
        const event = new PointerEvent("pointermove", {clientX: box.x + 300, clientY: box.y + 200});
        document.getElementById("map").dispatchEvent(event);
        await new Promise(requestAnimationFrame);
        await new Promise(requestAnimationFrame);
        return counts;
    }""")
    assert drawn["drawImage"] == 1
    assert drawn["fillRect"] == 0
    assert 0 < drawn["fillText"] < 300


def test_it_works_without_a_network(web: Web, report: str) -> None:
    page = web.open("about:blank")
    page.context.set_offline(True)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(report)
    page.wait_for_selector(READY)
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []


@pytest.mark.parametrize("width", [80, 1600])
def test_figures_are_pictures_that_a_browser_shows_with_their_words(width: int, web: Web, tmp_path: Path) -> None:
    for name, figure, words in (
        ("masks", plots.masks(), ["causal: no looking ahead", "小", "dog"]),
        ("positions", plots.positions(), ["Waves: one dimension along the sentence", "identity: 1.00", "ALiBi"]),
    ):
        plots.save(figure, tmp_path / f"{name}.svg")
        page = web.open(f"file://{tmp_path / name}.svg", viewport={"width": width, "height": 900})
        shown = page.locator("svg").first
        for word in words:
            expect(shown).to_contain_text(word)
        assert page.evaluate("document.querySelectorAll('path, image').length") > 5


def test_the_links_of_a_word_are_printed(web: Web, report: str) -> None:
    page = web.open(report)
    page.wait_for_selector(READY)
    page.emulate_media(media="print")
    for coloured in ("#source .word", ".chance i"):
        expect(page.locator(coloured).first).to_have_css("print-color-adjust", "exact")
