"""The page's files, read without a browser: they fit together, speak both languages, and cannot run what they show."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

import pytest

from yiwen.documents import formats

PAGE = Path(str(resources.files("yiwen.serve") / "page"))
FILES = {path.name: path.read_text(encoding="utf-8") for path in sorted(PAGE.iterdir())}
SCRIPTS = {name: text for name, text in FILES.items() if name.endswith(".js")}
HTML = FILES["index.html"]

SINKS = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|createContextualFragment|setHTML|document\.write|DOMParser|srcdoc"
    r"|\beval\(|new Function|javascript:|\bon\w+=\"|style=\"|setAttribute\(\"(?:on|style)|import\("
)
"""What turns text into markup or code, or what the content security policy forbids; and imports that come late."""


def keys_of(language: str) -> list[str]:
    return re.findall(r"^  (\w+): \"", FILES[f"strings_{language}.js"], re.MULTILINE)


@pytest.mark.parametrize("name", [*sorted(SCRIPTS), "index.html"])
def test_nothing_turns_text_into_markup_or_code(name: str) -> None:
    code = re.sub(r"/\*.*?\*/", "", FILES[name], flags=re.DOTALL)
    assert SINKS.findall(code) == []


def test_sinks_are_found() -> None:
    assert (
        len(SINKS.findall('a.innerHTML = b; eval(c); x.setAttribute("style", d); import("./e.js"); <p onclick="f">'))
        == 5
    )


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_file_is_one_concept_of_at_most_350_lines(name: str) -> None:
    assert FILES[name].count("\n") <= 350
    if name.endswith(".js") and name != "boot.js":
        assert re.match(r"/\*\*\s(\* )?@file |/\*\*\n \* @file ", FILES[name]), "say first what this file is for"


def test_nothing_is_fetched_from_elsewhere() -> None:
    for name, text in FILES.items():
        assert set(re.findall(r"(?:https?:)?//[\w.-]+\.\w+", text)) <= {"http://www.w3.org", "//www.w3.org"}, name
    for name in re.findall(r"(?:href|src)=\"([\w./-]+)\"", HTML):
        assert name.removeprefix("page/") in FILES


IN_CHROMIUM_ALONE = re.compile(
    r":empty\)*\s*[+~]|text-decoration: \w+ |(?<!-webkit-user-select: none; )(?<!-webkit-)user-select"
)
"""Safari draws what stands beside a box that fills as before, and reads neither a line's style nor `user-select` so."""


@pytest.mark.parametrize("folder", ["serve", "analysis"])
def test_the_looks_do_not_rest_on_what_safari_does_not_read(folder: str) -> None:
    for sheet in (PAGE.parents[1] / folder / "page").glob("*.css"):
        assert IN_CHROMIUM_ALONE.findall(sheet.read_text(encoding="utf-8")) == [], sheet


def test_what_safari_does_not_read_is_found() -> None:
    sheet = "a:not(:empty) + p, b:empty ~ p {} i { text-decoration: underline wavy; user-select: none; }"
    assert len(IN_CHROMIUM_ALONE.findall(sheet)) == 4


def test_a_document_being_sent_is_not_shown_as_done_in_firefox() -> None:
    """There a bar that does not know how far it is would be full."""
    assert "progress:indeterminate::-moz-progress-bar { width: 0; }" in FILES["style.css"]


def test_the_kinds_of_documents_that_can_be_picked_are_those_that_can_be_translated() -> None:
    (accepted,) = re.findall(r"accept=\"([^\"]+)\"", HTML)
    assert set(accepted.split(",")) == set(formats())


def test_every_module_is_imported_and_every_import_exists() -> None:
    imported = {name for text in SCRIPTS.values() for name in re.findall(r"from \"\./([\w.]+)\"", text)}
    assert imported | {"main.js", "boot.js"} == set(SCRIPTS)


def test_every_element_asked_for_is_in_the_page() -> None:
    ids = re.findall(r"\bid=\"([\w-]+)\"", HTML)
    assert len(ids) == len(set(ids))
    made = set(re.findall(r"(?:heading\(|id: )\"([\w-]+)\"", "\n".join(SCRIPTS.values())))
    asked = {name for text in SCRIPTS.values() for name in re.findall(r"byId\(\"([\w-]+)\"", text)}
    assert asked <= set(ids) | made
    assert set(re.findall(r"(?:for|aria-controls|aria-labelledby)=\"([\w-]+)\"", HTML)) <= set(ids) | made


def test_both_languages_have_the_same_strings_with_the_same_values_in_them() -> None:
    assert keys_of("en") == keys_of("zh")
    assert len(keys_of("en")) == len(set(keys_of("en"))) > 80
    for english, chinese in zip(
        *(re.findall(r": \"(.*)\",$", FILES[f"strings_{code}.js"], re.MULTILINE) for code in ("en", "zh")), strict=True
    ):
        assert sorted(re.findall(r"\{\w+\}", english)) == sorted(re.findall(r"\{\w+\}", chinese)), english


def test_the_codes_that_the_page_knows_in_chinese_are_those_of_the_service() -> None:
    service = "\n".join(path.read_text(encoding="utf-8") for path in PAGE.parent.glob("*.py"))
    for code in re.findall(r"^  (\w+): \"", FILES["refusals_zh.js"], re.MULTILINE):
        assert re.search(rf'ApiError\(\d+, "{code}"', service), code


def test_every_string_is_used_and_every_string_used_exists() -> None:
    code = "\n".join(text for name, text in SCRIPTS.items() if not name.startswith("strings_"))
    named = set(re.findall(r"data-t(?:-label|-placeholder|-empty)?=\"(\w+)\"", HTML)) | set(
        re.findall(r"\bt\(\"(\w+)\"", code)
    )
    assert named <= set(keys_of("en"))
    # Flags, themes and kinds of trouble are looked up by a name that is put together.
    loose = {key for key in keys_of("en") if key.startswith(("flag_", "theme_")) or f'"{key}"' in code}
    assert set(keys_of("en")) - named - loose - {"missing", "large", "quota", "refused", "server"} == set()


def test_the_english_of_the_page_is_that_of_its_strings() -> None:
    strings = dict(re.findall(r"^  (\w+): \"(.*)\",$", FILES["strings_en.js"], re.MULTILINE))
    shown = re.findall(r"data-t=\"(\w+)\"[^>]*>([^<]+)<", HTML)
    shown += re.findall(r"data-t-label=\"(\w+)\" aria-label=\"([^\"]+)\"", HTML)
    shown += re.findall(r"data-t-placeholder=\"(\w+)\" placeholder=\"([^\"]+)\"", HTML)
    shown += re.findall(r"data-t-empty=\"(\w+)\" data-empty=\"([^\"]+)\"", HTML)
    assert len(shown) > 25
    for key, text in shown:
        assert strings[key] == text
