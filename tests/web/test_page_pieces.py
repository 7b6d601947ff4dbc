"""The page's own arithmetic, run in the browser: pieces, offsets, links, waits."""

from __future__ import annotations

import random
from typing import Any

import pytest
from fake_service import FakeService
from playwright.sync_api import Page, expect

from yiwen.text.normalise import normalise

pytestmark = pytest.mark.web

LETTERS = "ab 😀𠮷字。. !?\t\u00a0é\u2028\r,，"


def module(page: Page, name: str, body: str, *values: Any) -> Any:
    """What a function of a module says: `body` with the module as `m` and the values as `v`."""
    return page.evaluate(f"async (v) => {{ const m = await import('./page/{name}.js'); {body} }}", list(values))


def units(text: str) -> bytes:
    """UTF-16, in which JavaScript counts."""
    return text.encode("utf-16-le", "surrogatepass")


def piece(text: str, start: int, end: int) -> str:
    return units(text)[2 * start : 2 * end].decode("utf-16-le", "surrogatepass")


def test_paragraphs_are_all_of_a_text_but_its_blanks_and_none_is_too_long(page: Page) -> None:
    draw = random.Random(7)
    for length in (0, 1, 2, 3, 17, 1999, 2001, 4999, 10_007):
        text = "".join(draw.choices(LETTERS + "\n" * (length % 3), k=length))
        spans = module(page, "paragraphs", "return m.paragraphs(v[0]);", text)
        pieces = [piece(text, *span) for span in spans]
        assert "".join("".join(pieces).split()) == "".join(text.split())
        assert all(len(units(each)) <= 4000 and "\n" not in each and each.strip() == each for each in pieces)
        assert spans == sorted(spans)
        each_whole = [each.encode("utf-8") for each in pieces]  # a character cut in two would not encode
        assert len(each_whole) == len(pieces)


@pytest.mark.parametrize(
    ("before", "whole", "after"),
    [
        ("word ", "3.14159 ", "word"),
        ("one, two ", "12,345 ", "word"),
        ("word ", "see.example.org/a.html ", "word"),
        ("我们走吧。", "3.14", "很好"),
    ],
)
def test_a_long_paragraph_is_not_cut_in_a_number_or_an_address(before: str, whole: str, after: str, page: Page) -> None:
    for room in range(len(whole)):
        left = (before * 2000)[: 2000 - room]
        text = left + whole + after * 300
        spans = module(page, "paragraphs", "return m.paragraphs(v[0]);", text)
        assert not any(len(left) < end < len(left) + len(whole.rstrip()) for _, end in spans)


def test_groups_are_small_enough_for_one_request_and_keep_the_order(page: Page) -> None:
    draw = random.Random(11)
    pieces = ["x" * draw.choice([1, 30, 700, 2000]) for _ in range(211)]
    groups = module(page, "paragraphs", "return m.groups(v[0]);", pieces)
    assert [each for group in groups for each in group] == pieces
    assert all(len(group) <= 40 and (len(group) == 1 or sum(map(len, group)) <= 2000) for group in groups)


def test_offsets_of_characters_become_those_of_utf16(page: Page) -> None:
    text = "a😀b𠮷"
    body = "return m.inUnits(v[0], v[1]);"
    assert module(page, "pieces", body, text, [[0, 1], [1, 2], [2, 4], [4, 9]]) == [[0, 1], [1, 3], [3, 6], [6, 6]]
    assert module(page, "pieces", body, "abc", [[1, 2]]) == [[1, 2]]


def test_pieces_are_the_whole_text_even_where_spans_overlap_or_leave_it(page: Page) -> None:
    found = module(page, "pieces", "return m.cut([0, 10], v[0]);", [[1, 3], [2, 5], [9, 14]])
    assert [(each["start"], each["end"], each["index"]) for each in found] == [
        (0, 1, None), (1, 3, 0), (3, 5, 1), (5, 9, None), (9, 10, 2),
    ]  # fmt: skip


def test_a_word_goes_with_those_that_got_half_of_its_best_partners_weight(page: Page) -> None:
    links = [[0, 0, 0.2], [0, 1, 0.8], [0, 2, 0.4], [1, 2, 0.6]]
    body = "const p = m.partners(v[0]); return [[...p.source], [...p.target]];"
    assert module(page, "pieces", body, links) == [
        [[0, [1, 2]], [1, [2]]],
        [[0, [0]], [1, [0]], [2, [1, 0]]],
    ]


@pytest.mark.parametrize(
    ("kind", "told", "waits"),
    [("network", None, [2, 4, 8, 16, 30, 30]), ("rate", 7, [7, 7]), ("busy", 0, [0]), ("quota", None, [None])],
)
def test_how_long_the_page_waits(page: Page, kind: str, told: int | None, waits: list[int | None]) -> None:
    body = "return m.waitAfter({kind: v[0], retryAfter: v[1]}, v[2]);"
    assert [module(page, "translating", body, kind, told, attempt) for attempt in range(len(waits))] == waits


def test_terms_pasted_from_a_sheet_are_two_columns(page: Page) -> None:
    found = module(page, "glossary", "return m.parseTerms(v[0]);", "heron\t 鹭\r\n\t7\nGmbH\n\n")
    assert found == [{"source": "heron", "target": "鹭"}, {"source": "GmbH", "target": ""}]


@pytest.mark.parametrize(
    ("name", "expected"), [("a.b.docx", "a.b.zh.docx"), ("README", "README.zh"), (".env", ".env.zh")]
)
def test_a_translated_document_has_the_language_in_its_name(page: Page, name: str, expected: str) -> None:
    assert module(page, "documents", "return m.resultName(v[0], 'zh');", name) == expected


def test_a_short_line_is_in_the_language_of_the_rest(page: Page, service: FakeService) -> None:
    page.fill("#source", "Two herons stand in the shallow water, and it is early.")
    expect(page.locator("#output .sentence")).to_have_count(1)
    page.fill("#source", "Two herons stand in the shallow water, and it is early.\nOK")
    expect(page.locator("#output .sentence")).to_have_count(2)
    assert [body["source"] for body in service.bodies("/v1/translate")] == ["auto", "en"]


@pytest.mark.parametrize(("first", "of"), [("2026-11-26", "und"), ("Das war vorher deutsch.", "zh")])
def test_what_has_no_language_or_is_as_it_should_be_tells_nothing_of_a_short_line(
    first: str, of: str, page: Page
) -> None:
    known = {"text": first, "translation": {"source": of, "target": "zh"}}
    english = {"text": "OK", "translation": {"source": "en", "target": "zh"}}
    body = """
        const asked = [];
        globalThis.fetch = async (url, options) => {
            const body = JSON.parse(options.body);
            asked.push(body.source);
            const flags = body.text[0] === v[0] ? [v[1] === 'und' ? 'passed_through' : 'already_target'] : [];
            const translations = body.text.map((text) => ({text, source: 'en', target: 'zh', flags, sentences: []}));
            return new Response(JSON.stringify({translations, model: 'x', took_ms: 1}));
        };
        let end;
        const ended = () => new Promise((resolve) => { end = resolve; });
        const nothing = () => {};
        const handlers = {pending: nothing, part: nothing, done: () => end(), failed: () => end()};
        const translating = m.createTranslating(handlers);
        for (const text of [v[0], v[0] + '\\nOK']) {
            const done = ended();
            translating.ask({text, source: 'auto', target: 'zh'}, 0);
            await done;
        }
        return asked;
    """
    assert module(page, "translating", body, first, of) == ["auto", "auto"]
    assert module(page, "paragraphs", "return m.languageOf(v);", known, english) == ("en" if of == "und" else of)


def test_of_lists_of_several_languages_a_term_is_sent_once(page: Page) -> None:
    lists = {
        "en>zh": [{"source": "bank", "target": "银行"}, {"source": "bank ", "target": "岸"}],
        "de>zh": [{"source": "bank", "target": "长凳"}, {"source": "Haus", "target": "房子"}],
        "en>ar": [{"source": "bank", "target": "x"}],
    }
    page.evaluate("(lists) => localStorage.setItem('yiwen.glossary', JSON.stringify(lists))", lists)
    assert module(page, "glossary", "return m.termsFor('auto', 'zh');") == [lists["en>zh"][0], lists["de>zh"][1]]
    assert module(page, "glossary", "return m.termsFor('de', 'zh');") == lists["de>zh"]


def test_terms_that_the_service_would_refuse_stay_here(page: Page) -> None:
    kept = {"source": "red  ball", "target": "红球"}
    others = (
        {"source": "red ball", "target": "球"},
        {"source": "\u200b", "target": "x"},
        {"source": "a" * 201, "target": ""},
    )
    page.evaluate(
        "(lists) => localStorage.setItem('yiwen.glossary', JSON.stringify(lists))", {"en>zh": [kept, *others]}
    )
    assert module(page, "glossary", "return m.termsFor('en', 'zh');") == [kept]


def test_terms_are_the_same_where_the_service_reads_them_so(page: Page) -> None:
    sources = [
        "Cafe\u0301",
        "Caf\u00e9",
        "soft\u00adware",
        "software",
        "\ufb01n",
        "fin",
        "\u3000red\u00a0ball",
        "red ball",
    ]
    sources += ["\U0001f3f4\U000e0067\U000e007f", "\U0001f3f4\U000e0073\U000e007f"]  # two flags
    lists = {"en>zh": [{"source": source, "target": "x"} for source in sources]}
    page.evaluate("(lists) => localStorage.setItem('yiwen.glossary', JSON.stringify(lists))", lists)
    found = [term["source"] for term in module(page, "glossary", "return m.termsFor('en', 'zh');")]
    kept = {normalise(source): source for source in reversed(sources)}
    assert sorted(found) == sorted(kept.values())
    assert len(found) == 7


def test_a_text_of_more_paragraphs_than_are_remembered_is_shown_whole(page: Page) -> None:
    lines = "\n".join(f"Line {i} of a long text." for i in range(1_103))
    page.fill("#source", lines)
    expect(page.locator("#output")).to_contain_text("LINE 1102 OF", timeout=60_000)
    assert page.locator("#output").inner_text().count("OF A LONG TEXT.") == 1_103
    page.fill("#source", f"{lines} Indeed.")
    expect(page.locator("#output")).to_contain_text("INDEED.", timeout=60_000)
    assert page.locator("#output").inner_text().count("OF A LONG TEXT.") == 1_103


@pytest.mark.parametrize(
    ("term", "text"),
    [
        ("Cafe\u0301", "The caf\u00e9 is closed."),
        ("red  ball", "a red\nball"),
        ("software", "soft\u00adware"),
        ("\u200bheron", "A Heron."),
    ],
)
def test_a_term_is_found_where_the_service_finds_it(page: Page, term: str, text: str) -> None:
    terms = [{"source": term, "target": "x"}, {"source": "river", "target": "y"}]
    assert module(page, "glossary", "return m.occurring(v[0], v[1]);", terms, text) == terms[:1]
