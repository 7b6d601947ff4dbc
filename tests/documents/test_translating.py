"""From units to placed translations: placeholders, marks by alignment, sentences over cues, progress."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from papers import Aligned, Fake, Said, by, texts_of, translated_here, words

from yiwen.documents import translate_document, translate_markup
from yiwen.documents.assembling import DEEPEST
from yiwen.documents.translating import AT_ONCE, translated
from yiwen.documents.unit import Mark, Unit
from yiwen.errors import ConfigError, DataError

TMX = '<tmx><header srclang="en"/><body><tu><tuv xml:lang="en"><seg>a</seg></tuv></tu></body></tmx>'


def test_marks_of_markup_land_on_the_aligned_words() -> None:
    # 0 the 1 red 2 car 3 stops 4 . -> 0 el 1 coche 2 rojo 3 para 4 .
    fake = Fake(
        {"the red car stops.": "el coche rojo para."}, {"the red car stops.": [(0, 0), (1, 2), (2, 1), (3, 3), (4, 4)]}
    )
    html = '<p>the <b>red</b> <a href="x">car</a> stops.</p>'
    assert translated_here(html, "html", fake=fake).decode() == '<p>el <a href="x">coche</a> <b>rojo</b> para.</p>'
    markdown = "the __red__ [car](x) stops.\n"
    assert translated_here(markdown, "md", fake=fake).decode() == "el [coche](x) **rojo** para.\n"


@pytest.mark.parametrize(("asked", "written"), [("zh_TW", "zh-TW"), ("german", "de"), ("pt-BR", "pt-BR")])
@pytest.mark.parametrize(("suffix", "document"), [("html", '<html lang="en"><p>a</p></html>'), ("tmx", TMX)])
def test_a_document_says_its_language_by_a_code(suffix: str, document: str, asked: str, written: str) -> None:
    out = translate_document(document.encode(), suffix=suffix, translate=by(str.upper), src_lang="en", tgt_lang=asked)
    assert f'lang="{written}"' in out.decode()


@pytest.mark.parametrize("argument", ["src_lang", "tgt_lang"])
def test_a_language_that_is_no_text_is_named(argument: str) -> None:
    with pytest.raises(ConfigError, match=r"^a language is a bytes; give its code, .*, not b'de'$"):
        translate_document(b"a", suffix="txt", translate=by(str.upper), **{argument: b"de"})  # type: ignore[arg-type]


def test_chinese_and_stars() -> None:
    fake = Fake({"a red car": "一辆红色的车"}, {"a red car": [(0, 0), (0, 1), (1, 2), (1, 3), (1, 4), (2, 5)]})
    assert translated_here("a _red_ car", "md", fake=fake).decode() == "一辆*红色的*车"


def test_placeholders_that_came_through_stay_and_only_once() -> None:
    fake = Fake({"{n} dogs and {m} cats": "{m} Katzen und {n} Hunde"})
    assert translated_here('["{n} dogs and {m} cats"]', "json", fake=fake).decode() == '["{m} Katzen und {n} Hunde"]'
    assert fake.asked == ["{n} dogs and {m} cats"]


def test_marks_do_not_cut_placeholders() -> None:
    fake = Fake(
        {"go {n} home": "geh {n}", "{n} is here": "hier {n}", "see {n} now": "jetzt {n}"},
        {"{n} is here": [(4, 0)], "see {n} now": [(4, 0)]},
    )
    by_place = translated_here("<p>go {n} <i>home</i></p>", "html", fake=fake).decode()
    assert by_place == "<p><i>geh</i> {n}</p>"
    assert translated_here("**{n} is** here", "md", fake=fake).decode() == "hier **{n}**"
    html = '<p>see <img src="a"> {n} now</p>'
    assert translated_here(html, "html", fake=fake).decode() == '<p>jetzt <img src="a"> {n}</p>'
    fake = Fake({"100%% sure": "100%%肯定"}, {"100%% sure": [(0, 0), (1, 1), (2, 2), (3, 3), (3, 4)]})
    assert translated_here("<p><b>100%%</b> sure</p>", "html", fake=fake).decode() == "<p><b>100%%</b>肯定</p>"


def test_a_placeholder_that_was_lost_takes_the_place_of_a_number() -> None:
    fake = Fake(
        {"Dear {name}, see http://x.org/a now": "Liebe Frau", "Dear 7, see 8 now": "Sieh jetzt 8, liebe 7"},
    )
    out = translated_here('"Dear {name}, see http://x.org/a now"', "json", fake=fake).decode()
    assert out == '"Sieh jetzt http://x.org/a, liebe {name}"'


def test_a_number_that_was_changed_is_found_by_alignment_or_the_placeholder_is_put_in() -> None:
    # 0 a 1 girl 2 with 3 7 4 plays -> 0 ein 1 Mädchen 2 mit 3 6 4 spielt
    texts = {"a girl with %s plays": "ein Mädchen spielt", "a girl with 7 plays": "ein Mädchen mit 6 spielt"}
    fake = Fake(texts, {"a girl with 7 plays": [(n, n) for n in range(5)]})
    po = 'msgid "a girl with %s plays"\nmsgstr ""\n'
    assert 'msgstr "ein Mädchen mit %s spielt"' in translated_here(po, "po", fake=fake).decode()
    fake = Fake({**texts, "a girl with 7 plays": "sie spielt"}, {"a girl with 7 plays": [(1, 0), (4, 1)]})
    assert translated_here(po, "po", fake=fake).decode().count("%s") == 2


def test_a_placeholder_takes_no_word_that_was_kept_as_it_is() -> None:
    # 0 7 1 likes 2 beef -> 0 mag 1 beef, whose attention is on 7
    fake = Fake({"{name} likes beef": "mag beef", "7 likes beef": "mag beef"}, {"7 likes beef": [(0, 1), (1, 0)]})
    assert translated_here('"{name} likes beef"', "json", fake=fake).decode() == '"mag {name} beef"'


@pytest.mark.parametrize(
    ("said", "written"),
    [("drei 77 Hunde", "drei {n} Hunde"), ("drei 97er Hunde", "drei {n}er Hunde"), ("drei 6 Hunde", "drei {n} Hunde")],
)
def test_no_digit_stays_beside_a_placeholder_where_the_model_garbled_its_number(said: str, written: str) -> None:
    fake = Fake({"three {n} dogs": "weg", "three 7 dogs": said}, {"three 7 dogs": [(0, 0), (1, 1)]})
    assert translated_here('"three {n} dogs"', "json", fake=fake).decode() == f'"{written}"'


def test_a_placeholder_takes_no_number_of_the_text_itself() -> None:
    # 0 17 1 dogs 2 8 -> 0 17 1 Hunde, whose 17 is what 8 looks at
    fake = Fake({"17 dogs {n}": "weg", "17 dogs 8": "17 Hunde"}, {"17 dogs 8": [(0, 0), (1, 1), (2, 0)]})
    assert translated_here('"17 dogs {n}"', "json", fake=fake).decode() == '"{n} 17 Hunde"'


def test_placeholders_side_by_side_take_a_digit_each() -> None:
    fake = Fake({"{a}{b} dogs": "weg", "78 dogs": "78 Hunde"}, {"78 dogs": [(0, 0), (1, 1)]})
    assert translated_here('"{a}{b} dogs"', "json", fake=fake).decode() == '"{a}{b} Hunde"'


def test_a_mark_holds_all_the_code_that_is_in_it() -> None:
    # 0 use 1 a1 2 or 3 b2 4 now 5 . -> 0 a1 1 kann 2 man 3 oder 4 b2 5 nehmen 6 .
    links = [(0, 1), (0, 2), (1, 0), (2, 3), (3, 4), (4, 5), (5, 6)]
    fake = Fake({"use a1 or b2 now.": "a1 kann man oder b2 nehmen."}, {"use a1 or b2 now.": links})
    out = translated_here("use **`a1` or `b2`** now.", "md", fake=fake).decode()
    assert out == "**`a1` kann man oder `b2`** nehmen."
    fake = Fake({"use {a} b2 now.": "{a} kann man gut b2 nehmen."}, {"use {a} b2 now.": [(0, 3), (0, 4), (4, 5)]})
    out = translated_here("use **{a} `b2`** now.", "md", fake=fake).decode()
    assert out == "**{a} kann man gut `b2`** nehmen."


def test_code_that_stands_outside_of_its_mark_takes_no_word_inside() -> None:
    # 0 now 1 go 2 a1 3 or 4 b2 5 . -> 0 a1 1 oder 2 geh 3 b2 4 jetzt 5 .
    links = [(0, 4), (1, 2), (2, 0), (3, 1), (4, 3), (5, 5)]
    fake = Fake({"now go a1 or b2.": "a1 oder geh b2 jetzt."}, {"now go a1 or b2.": links})
    out = translated_here("now *go* **`a1` or `b2`**.", "md", fake=fake).decode()
    assert out == "**`a1` oder `b2`** *geh* b2 jetzt."


def test_a_mark_without_a_word_takes_no_code_beside_it() -> None:
    # 0 now 1 go 2 a1 3 . -> 0 a1 1 jetzt 2 geh 3 .
    fake = Fake({"now go a1.": "a1 jetzt geh."}, {"now go a1.": [(0, 1), (1, 2), (2, 0), (3, 3)]})
    out = translated_here("<p>now <a><b>go</b> <code>a1</code></a>.</p>", "html", fake=fake).decode()
    assert out == "<p><a><b></b><code>a1</code></a> jetzt geh.</p>"


def test_a_number_that_is_said_again_is_no_number_of_the_text() -> None:
    # 0 dog 1 see 2 7 3 now -> 0 seht 1 7 2 , 3 Hund 4 , 5 jetzt 6 7 7 um 8 77
    texts = {"dog see {n} now": "weg", "dog see 7 now": "seht 7, Hund, jetzt 7 um 77"}
    fake = Fake(texts, {"dog see 7 now": [(0, 3), (1, 0), (2, 1), (3, 5)]})
    out = translated_here("*dog* see {n} now", "md", fake=fake).decode()
    assert out == "seht {n}, *Hund*, jetzt {n} um 77"


def test_a_placeholder_is_never_put_inside_of_another_that_is_said_again() -> None:
    fake = Fake({"{a} dogs and {b} cats": "weg", "7 dogs and 8 cats": "7 Hunde 7 und"})
    assert translated_here('"{a} dogs and {b} cats"', "json", fake=fake).decode() == '"{a} Hunde {a} {b} und"'


@pytest.mark.parametrize(
    ("said", "again", "flags"),
    [
        ("weg", "7", []),  # found again
        ("weg", "jetzt", []),  # put in
        ("weg", "7 und 7", ["placeholders"]),
        ("{n} und <b>", "", ["placeholders"]),
        ("{n}", "", ["numbers"]),  # of the first translation, which is the one that stays
    ],
)
def test_flags_say_what_is_wrong_with_what_is_written(said: str, again: str, flags: list[str]) -> None:
    def translate(texts: Sequence[str]) -> list[Said]:
        first, second = Said(said, flags=("placeholders", *flags)), Said(again, flags=("placeholders",))
        return [first if "{n}" in text else second for text in texts]

    told: list[str] = []
    units = [Unit("see {n}", keep=((4, 7),))]
    list(translated(units, translate=translate, align=None, progress=None, flag=told.extend))
    assert told == flags


@pytest.mark.parametrize(
    ("text", "asked", "said", "written"),
    [
        ("Set it to {n}px now", "Set it to 7px now", "Jetzt 7px setzen", "Jetzt {n}px setzen"),
        ("see v{n} of it", "see v7 of it", "davon v6 sehen", "davon v{n} sehen"),
        ("Copy{n} of it", "Copy7 of it", "Kopie davon", "Kopie {n} davon"),
        ("my Copy{n} of it", "my Copy7 of it", "meine Kopie davon", "meine Kopie {n} davon"),
        ("{n}th dog", "7th dog", "siebter Hund", "{n} siebter Hund"),
        ("{n} of 7 dogs", "8 of 7 dogs", "8 von 7 Hunden", "{n} von 7 Hunden"),
        ("It took %dms for %dx%d", "It took 7ms for 8x9", "Für 8x9 waren es 7ms", "Für %dx%d waren es %dms"),
    ],
)
def test_a_placeholder_takes_no_more_than_its_own_part_of_a_word(
    text: str, asked: str, said: str, written: str
) -> None:
    fake = Fake({text: "weg", asked: said}, {asked: [(0, 0), (1, 1)] if "Copy" in text or "th" in text else []})
    assert translated_here(f'"{text}"', "json", fake=fake).decode() == f'"{written}"'


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("{n}<b>px</b> wide", "{n}<b>PX</b> WIDE"),
        ("<b>px</b>{n} wide", "<b>PX</b>{n} WIDE"),
        ("<i>{n}<b>px</b></i> wide", "<i>{n}<b>PX</b></i> WIDE"),
        ("{n}<b>alpha</b>{m} wide", "{n}<b>ALPHA</b>{m} WIDE"),
        ("{m}<b><i>beta zeta {n}</i> iota</b> wide", "{m}<b>BETA <i>ZETA {n}</i> IOTA</b> WIDE"),
    ],
)
def test_no_number_that_stood_for_a_placeholder_stays_beside_formatting_that_it_touches(
    text: str, written: str
) -> None:
    out = translated_here(json.dumps([text]), "json", lambda said: re.sub(r"\{\w\}", "", said).upper())
    assert json.loads(out) == [written]


def test_a_placeholder_without_a_word_of_its_own_is_put_between_words() -> None:
    fake = Fake({"dogs like {n} much": "weg", "dogs like 7 much": "Hunde sehr"}, {"dogs like 7 much": [(0, 0), (3, 1)]})
    assert translated_here('"dogs like {n} much"', "json", fake=fake).decode() == '"Hunde {n} sehr"'
    html = "<p>dogs like <code><b>{n}</b></code> much</p>"
    assert translated_here(html, "html", fake=fake).decode() == "<p>Hunde <code><b>{n}</b></code> sehr</p>"


def test_code_inside_of_a_sentence_is_kept_inside_of_its_marks() -> None:
    fake = Fake(
        {"run make test now": "mach es jetzt", "run 7 now": "jetzt 7 tun"}, {"run 7 now": [(0, 2), (1, 1), (2, 0)]}
    )
    assert translated_here("run `make test` now", "md", fake=fake).decode() == "jetzt `make test` tun"
    assert (
        translated_here("<p>run <code>make test</code> now", "html", fake=fake).decode()
        == "<p>jetzt <code>make test</code> tun"
    )


@pytest.mark.parametrize(
    "kept",
    [
        *(
            "{name}",
            "{{ user.name }}",
            "${total}",
            "%{count}",
            "%s",
            "%(name)s",
            "%1$s",
            "%-5.2f",
            "%@",
            "100%%",
            "{0}",
        ),
        *("https://x.org/a?b=c&d#e", "www.x_y.org/a", "me@x-y.org", "&nbsp;", "{n, number}", "{d, date, short}"),
        *("{n, plural, one {# dog} other {# dogs}}", "{g, select, male {he} other {they}}"),
        *(r"\(E = mc^2\)", r"\[\int_0^1 f(x) dx\]", "{#install .unnumbered}", "{: .warning}", "[[Home page]]"),
        *("[@smith2020, p. 5]", "{ .md-button .md-button--primary }"),
        *("{price:,.2f}", "{0,10:N2}", "{0,-5}", "{when:%d %B %Y}", "$USER$", "%#@files@", "%1$#@files@"),
        *("$t(common.site)", ":smile:", ":material-check:", ":+1:", "`make a. B`", "``print()``"),
    ],
)
def test_what_is_kept(kept: str) -> None:
    (unit,) = [u for u in _units(f'"say {kept} here".', "txt") if u.keep]
    assert unit.text[slice(*unit.keep[0])] == kept.removeprefix("100")


@pytest.mark.parametrize(
    "text",
    [
        "100 % sure",
        "5% discount",
        "a < b & c",
        "set {a, b} is",
        "R&D",
        "{ not one }",
        "awww.so.sweet",
        "{so: it is}",
        "$5 or $7",
        "a:b:c",
        "ns::x::",
        "at 10:30:45",
        "one: two: three",
        "`it' and `that'",
        "it`s here, it`s there",
        "``I stop. You go,'' he said. ``Now.''",
    ],
)
def test_what_is_not_kept(text: str) -> None:
    assert all(not unit.keep for unit in _units(text, "txt"))


@pytest.mark.parametrize(
    "message",
    [
        "{count, plural, one {<b>#</b> file was deleted} other {<b>#</b> files were deleted}}",
        "{gender, select, male {{n, plural, one {He has # cat} other {He has # cats}}} other {They have cats}}",
        "{ count, plural, one {a dog} other {<i>#</i> dogs}}",
        "{user.count, plural, one {a dog} other {# dogs}}",
    ],
)
def test_a_message_that_cannot_be_kept_whole_is_left_alone(message: str) -> None:
    source = json.dumps({"a": f"You see {message} here", "b": "a dog"})
    out = json.loads(translated_here(source, "json", lambda text: text.upper()))
    assert (out["a"], out["b"]) == (f"You see {message} here", "A DOG")


@pytest.mark.parametrize(("longer", "shorter"), [("user_id", "id"), ("--all", "-a"), (">=1.2.7", "1.2.7")])
def test_a_code_that_is_part_of_another_keeps_its_own_place(longer: str, shorter: str) -> None:
    source = f"Use `{longer}` or `{shorter}` now."
    done = translated_here(source, "md", lambda text: text.replace("Use", "Nimm").replace(" or ", " oder "))
    assert done.decode() == f"Nimm `{longer}` oder `{shorter}` now."
    swapped = Fake({f"Use {longer} or {shorter} now.": f"Nimm {shorter} oder {longer} jetzt."})
    assert translated_here(source, "md", fake=swapped).decode() == f"Nimm `{shorter}` oder `{longer}` jetzt."


def test_a_placeholder_in_front_of_letters_is_kept_and_a_per_cent_sign_is_not() -> None:
    (unit,) = _units("%dms, %.1fGB, %dx%d and %02dh, but 100%der, 5 %of, a%20dog", "txt")
    assert unit.literals() == ["%d", "%.1f", "%d", "%d", "%02d"]
    (unit,) = _units("write to 请联系me@x.org", "txt")
    assert unit.literals() == ["me@x.org"]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("one two three <b><br>four</b> five", "five four three<br><b>two</b> one"),
        ("one two <b>three<br></b> four five", "five four <b>three</b><br>two one"),
        ("kappa mu nu <b><br>zeta</b> delta", "delta zeta<br>nu <b>mu</b> kappa"),
        ("one <b><i><br>two three</i></b> four", "four<br><b><i>three two</i></b> one"),
    ],
)
def test_no_word_is_said_twice_where_formatting_begins_or_ends_with_a_line_break(text: str, written: str) -> None:
    def backwards(text: str) -> str:
        return " ".join(reversed(text.split()))

    out = json.loads(translated_here(json.dumps([text]), "json", backwards))
    assert sorted(re.findall(r"\w+|<[^>]*>", out[0])) == sorted(re.findall(r"\w+|<[^>]*>", text))
    assert out == [written]


def test_a_picture_behind_the_line_break_that_formatting_ends_with_stays_inside_and_takes_no_words_along() -> None:
    text, said = "one two three four five six", "vier eins zwei drei fünf sechs"
    fake = Fake({text: said}, {text: [(0, 1), (1, 2), (2, 3), (3, 0), (4, 4), (5, 5)]})
    out = translated_here('["one two three <b>four<br><img></b> five six"]', "json", fake=fake).decode()
    assert out == '["<b>vier<img></b> eins zwei drei<br>fünf sechs"]'


def test_a_number_that_stood_for_a_placeholder_is_replaced_on_either_side_of_a_line_break() -> None:
    fake = Fake({"Price {a} now": "Jetzt Preis", "Price 7 now": "Jetzt gilt hier 7"})
    assert translated_here('["Price {a}<br>now"]', "json", fake=fake).decode() == '["Jetzt gilt<br>hier {a}"]'


words_of_prose = st.sampled_from(
    ["dogs", "50%", "50", "%20", "%5", "%50", "a@b.de", "@ann", "%1.5", ".", "日本", "(", "é"]
)
arguments = st.sampled_from(["%1", "%2", "%L1", "%n", "%Ln", "@:a.b", "@.lower:a-b", "@:{'a b'}"])


@given(st.lists(st.tuples(words_of_prose, arguments), min_size=1, max_size=6))
def test_arguments_of_qt_and_links_of_vue_are_kept_anywhere_in_prose(parts: list[tuple[str, str]]) -> None:
    text = "Read %1: " + " ".join(f"{word} the {argument}" for word, argument in parts)
    (unit,) = _units(text, "txt")
    wanted = ["%1", *(argument for _, argument in parts)]
    assert [literal for literal in unit.literals() if literal not in ("a@b.de", "@ann", "%5")] == wanted


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Hi :name, (:count left)", [":name", ":count"]),
        ("At 10:30 she said:so :D, 见:abc and a::b :smile:", [":smile:"]),
        ("%<name>s likes %<n>.2f and %<b>d", ["%<name>s", "%<n>.2f", "%<b>d"]),
        ("#{user} has {{{ raw }}} and %arg", ["#{user}", "{{{ raw }}}", "%arg"]),
        ("%name%, %%site%% or %DATE% at %d%%, not 30%off%", ["%name%", "%%site%%", "%DATE%", "%d", "%%"]),
        ("@count of %title: 50 %of it, a%off, %lus", ["@count", "%title", "%lu"]),  # Drupal
        ("Hello $name, $5 or US$ in $HOME", ["$name", "$HOME"]),  # PHP, Dart
        ("$1 of $2, not $12", ["$1", "$2"]),  # MediaWiki
        ("%#x, %'d and # of C# #1", ["%#x", "%'d", "#"]),
        ("message #%d (#)", ["%d"]),
    ],
)
def test_placeholders_of_many_frameworks_are_kept(text: str, kept: list[str]) -> None:
    (unit,) = _units(json.dumps([text]), "json")
    assert (unit.text, unit.literals()) == (text, kept)


def test_a_tag_behind_a_per_cent_sign_is_a_tag() -> None:
    assert texts_of('["<i>50%</i> <b>of 9%<b>some dogs</b></b>"]', "json") == ["50% of 9%some dogs"]


def test_per_cent_as_turkish_writes_it_is_no_argument_of_qt() -> None:
    assert _units("Fiyatlar %5 arttı, %2 değil, %15 ve %1,5 değil", "txt")[0].literals() == []
    assert _units("%2 / %1", "txt") == []
    assert _units("Copy %2 to %1", "txt")[0].literals() == ["%2", "%1"]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("请访问https://example.com/help了解更多信息", "https://example.com/help"),
        ("见“https://a.com/b”，谢谢", "https://a.com/b"),
        ("写信到support@example.com获取帮助", "support@example.com"),
        ("来自%@的消息", "%@"),
        ("第%i个文件", "%i"),
    ],
)
def test_what_is_kept_ends_where_chinese_begins(text: str, kept: str) -> None:
    (unit,) = _units(text, "txt")
    assert unit.literals() == [kept]


def _units(text: str, suffix: str) -> list[Unit]:
    from yiwen.documents.reading import opened, parsers
    from yiwen.documents.sandbox import Limits

    return list(opened(text.encode(), suffix, Limits()).units(parsers()[suffix]))


def cue(number: int, text: str) -> str:
    return f"{number}\n00:00:0{number},000 --> 00:00:0{number},900\n{text}\n\n"


def test_a_sentence_over_cues_is_one_text_and_is_cut_again() -> None:
    source = cue(1, "I think that") + cue(2, "we should go,") + cue(3, "Anna.") + cue(4, "Yes.")
    assert texts_of(source, "srt") == ["I think that we should go, Anna.", "Yes."]
    known = {"I think that we should go, Anna.": "我想我们应该走了，安娜。", "Yes.": "是。"}
    out = translated_here(source, "srt", fake=Fake(known)).decode()
    assert out == cue(1, "我想我们") + cue(2, "应该走了，") + cue(3, "安娜。") + cue(4, "是。")


def test_cues_that_are_sentences_or_end_without_a_stop_stay_apart() -> None:
    source = cue(1, "One.") + cue(2, "two") + cue(3, "Three") + cue(4, "[music]") + cue(5, "- Four,\n- Five")
    assert texts_of(source, "srt") == ["One.", "two", "Three", "[music]", "Four,", "Five"]


def test_captions_without_capitals_and_marks_are_not_one_text() -> None:
    texts = texts_of("".join(cue(7, f"{'and ' * (n % 2)}so today we talk about") for n in range(997)), "srt")
    assert 9 < len(texts) < 30
    assert sum(text.count("today") for text in texts) == 997


def test_two_speakers_of_webvtt_are_two_texts() -> None:
    source = "WEBVTT\n\n00:01.000 --> 00:02.000\n<v Fred>one here\n<v.loud Bill>two <c.red>red</c>\n"
    assert texts_of(source, "vtt") == ["one here", "two red"]
    assert "<v Fred>ONE HERE\n<v.loud Bill>TWO <c.red>RED</c>\n" in translated_here(source, "vtt").decode()


def test_a_sentence_of_one_speaker_goes_on_over_cues_and_of_two_does_not() -> None:
    both = "WEBVTT\n\n00:01.000 --> 00:02.000\n<v Bob>I went to the</v>\n\n00:02.000 --> 00:03.000\n<v {}>house</v>\n"
    assert texts_of(both.format("Bob"), "vtt") == ["I went to the house"]
    assert texts_of(both.format("Ann"), "vtt") == ["I went to the", "house"]


def test_who_spoke_last_in_a_cue_is_who_goes_on_in_the_next_one() -> None:
    both = "WEBVTT\n\n00:01.000 --> 00:02.000\n<v Ann>one</v>\n<v Bob>two and\n\n00:02.000 --> 00:03.000\n<v {}>more\n"
    assert texts_of(both.format("Bob"), "vtt") == ["one", "two and more"]
    assert texts_of(both.format("Ann"), "vtt") == ["one", "two and", "more"]


def test_lines_of_several_speakers_and_of_songs_are_texts_apart() -> None:
    source = cue(1, ">> Who is\n>> there,") + cue(2, "ANN LEE: a friend,\nBOB: or two") + cue(3, "♪ la la\n♪ lo ♪")
    assert texts_of(source, "srt") == ["Who is", "there,", "ANN LEE: a friend,", "BOB: or two", "la la", "lo ♪"]
    assert texts_of(cue(1, "IT IS\nSIMPLE: RUN"), "srt") == ["IT IS SIMPLE: RUN"]
    assert texts_of("WEBVTT\n\n00:01.000 --> 00:02.000\n&gt;&gt; Who\n&gt;&gt; is it\n", "vtt") == ["Who", "is it"]
    assert texts_of(cue(1, "♪ la la ♪") + cue(2, "he sang"), "srt") == ["la la ♪", "he sang"]


def test_captions_that_roll_are_read_from_a_line_with_a_blank_on_and_do_not_say_a_line_twice() -> None:
    """As YouTube writes them: a cue is at an end where a line has no character at all."""
    rows = (" ", "welcome to<00:00:00.480><c> us</c>"), ("welcome to us", " "), ("welcome to us", "today<c> we</c>")
    source = "WEBVTT\n" + "".join(f"\n00:00.080 --> 00:02.389\n{first}\n{second}\n" for first, second in rows)
    assert texts_of(source, "vtt") == ["welcome to us", "welcome to us", "welcome to us today we"]
    assert translated_here(source, "vtt", str).decode() == source
    assert "\n \nWELCOME TO<00:00:00.480> <c>US</c>\n\n" in translated_here(source, "vtt").decode()


def test_formatting_that_each_line_of_a_sentence_has_for_itself_is_around_all_of_its_translation() -> None:
    fake = Fake({"a red dog sings": "ein Hund singt rot"}, {"a red dog sings": [(0, 0), (1, 3), (2, 1), (3, 2)]})
    for begin, end in (("<i>", "</i>"), ('<font color="red">', "</font>"), ("<c.loud>", "</c>")):
        source = cue(1, f"{begin}a red{end}") + cue(2, f"{begin}dog{end}\n{begin}sings{end}")
        out = cue(1, f"{begin}ein Hund{end}") + cue(2, f"{begin}singt{end}\n{begin}rot{end}")
        assert translated_here(source, "srt", fake=fake).decode() == out


@pytest.mark.parametrize("close", ["</rt>", ""])
def test_how_a_word_of_a_cue_is_read_is_no_part_of_the_sentence(close: str) -> None:
    source = f"WEBVTT\n\n00:01.000 --> 00:02.000\n我住在<ruby>学<rt>xué</rt>校<rp>(</rp><rt>xiào{close}</ruby>里。\n"
    assert texts_of(source, "vtt") == ["我住在学校里。"]
    assert translated_here(source, "vtt", str).decode() == source
    assert texts_of(f'["<ruby>学<rt>xué{close}</ruby>校"]', "json") == ["学校"]


@pytest.mark.parametrize(
    "rows",
    [
        ("ฉันไปตลาด", "และซื้อปลาแล้ว", "กลับบ้าน"),
        ("ຂ້ອຍໄປຕະຫຼາດ", "ແລະຊື້ປາແລ້ວ", "ກັບບ້ານ"),
        ("ခွေးတစ်ကောင်သည်", "မြက်ပေါ်တွင်", "ပြေးနေသည်။"),
        ("ខ្ញុំបានទៅផ្សារ", "ហើយទិញត្រីខ្លះ", "រួចមកផ្ទះវិញ។"),
    ],
)
def test_cues_of_scripts_with_few_blanks_end_at_those_there_are(rows: tuple[str, ...]) -> None:
    source = cue(1, "I went to town") + cue(2, "and bought a fish,") + cue(3, "then came home.")
    written = "".join(cue(number, row) for number, row in enumerate(rows, 1))
    assert translated_here(source, "srt", lambda text: " ".join(rows)).decode() == written


def test_cues_without_blanks_never_end_inside_of_a_syllable_that_can_be_told() -> None:
    for syllables in (["ตะ", "ลา", "น้ำ"], ["ຕະ", "ລາ", "ນ້ຳ"], ["တစ်", "ကောင်", "သည်"], ["ត្រី", "ទៅ", "ផ្សា"]):
        for number in range(1, len(syllables) * 3):
            source = cue(1, "a" * number) + cue(2, "b" * 9)
            out = translated_here(source, "srt", lambda text: "".join(syllables * 3)).decode()  # noqa: B023
            first = out.split("\n")[2]
            assert first in {"".join((syllables * 3)[:n]) for n in range(10)}


def test_no_line_ends_inside_of_a_placeholder() -> None:
    source = "1\n00:00:01,000 --> 00:00:02,000\nthen come {{ a. b }}\nnow to us and to them and to everybody.\n"
    done = translated_here(source, "srt").decode()
    assert done.endswith("\nTHEN COME {{ a. b }}\nNOW TO US AND TO THEM AND TO EVERYBODY.\n")


def test_blank_lines_inside_of_a_cue_of_subrip_lose_nothing() -> None:
    source = cue(1, "\nOne here.") + cue(2, "Two\n\nthree.") + cue(3, "") + "\n" * 9 + cue(4, "Four")
    assert texts_of(source, "srt") == ["One here.", "Two", "three.", "Four"]
    assert translated_here(source, "srt").decode() == source.upper()


def test_each_cue_gets_a_word_where_there_are_as_many() -> None:
    source = cue(1, "I think that everybody knows") + cue(2, "who") + cue(3, "he is.")
    out = translated_here(source, "srt", lambda text: "one two three").decode()
    assert out == cue(1, "one") + cue(2, "two") + cue(3, "three")


def test_quotes_in_a_cue_of_webvtt_stay_what_they_are() -> None:
    out = translated_here("WEBVTT\n\n00:01.000 --> 00:02.000\nno dog\n", "vtt", lambda text: 'it\'s "a" < b').decode()
    assert out.endswith('\nit\'s "a" &lt; b\n')


def test_a_translation_cannot_end_a_cue() -> None:
    assert translated_here(cue(1, "text"), "srt", lambda text: "a\n\n1 --> 2").decode() == cue(1, "a 1 → 2")


@dataclass(frozen=True)
class Sentence:
    src_start: int
    src_end: int
    tgt_start: int
    tgt_end: int


def test_only_sentences_with_marks_are_aligned_and_marks_stay_in_their_sentence() -> None:
    unit = Unit("One. Two red.", (Mark(9, 12),))
    pairs: list[tuple[str, str]] = []

    def translate(texts: Sequence[str]) -> list[Said]:
        return [Said("Eins rot. Zwei rote.", (Sentence(0, 4, 0, 9), Sentence(5, 13, 10, 20))) for _ in texts]

    def align(sources: Sequence[str], targets: Sequence[str]) -> list[Aligned]:
        pairs.extend(zip(sources, targets, strict=True))
        return [Aligned(words(sources[0]), words(targets[0]), ((0, 0, 1.0), (1, 1, 1.0)))]

    ((text, spans),) = translated([unit], translate=translate, align=align, progress=None)
    assert pairs == [("Two red.", "Zwei rote.")]
    assert [text[slice(*span)] for span in spans] == ["rote"]


def test_nothing_is_aligned_for_a_break_or_where_a_text_stayed_as_it_was() -> None:
    def align(sources: Sequence[str], targets: Sequence[str]) -> list[Aligned]:
        raise AssertionError(sources)

    units = [Unit("a b", (Mark(1, 2, is_break=True),)), Unit("A B", (Mark(0, 1),))]
    answers = list(translated(units, translate=by(str.upper), align=align, progress=None))
    assert answers == [("A B", [(1, 2)]), ("A B", [(0, 1)])]


def test_a_text_too_long_to_align_falls_back_to_place_alone() -> None:
    def align(sources: Sequence[str], targets: Sequence[str]) -> list[Aligned]:
        if any(len(source) > 8 for source in sources):
            raise DataError("too long; shorten it")
        return [Aligned(words(s), words(t), ((1, 0, 1.0),)) for s, t in zip(sources, targets, strict=True)]

    units = [Unit("a b", (Mark(2, 3),)), Unit("aaaa bbbb cccc", (Mark(5, 9),))]
    answers = list(translated(units, translate=by(str.upper), align=align, progress=None))
    assert answers == [("A B", [(0, 1)]), ("AAAA BBBB CCCC", [(5, 9)])]


def test_equal_texts_are_asked_for_once_and_progress_ends_at_one() -> None:
    asked: list[int] = []
    told: list[float] = []

    def translate(texts: Sequence[str]) -> list[Said]:
        asked.append(len(texts))
        return [Said(text.upper()) for text in texts]

    units = [Unit("same")] * AT_ONCE + [Unit(f"text {n}") for n in range(7)]
    answers = list(translated(units, translate=translate, align=None, progress=told.append))
    assert (len(answers), asked, told[-1], told == sorted(told)) == (AT_ONCE + 7, [1, 7], 1.0, True)


def test_formatting_nested_beyond_all_reason_comes_back_in_order() -> None:
    n = DEEPEST + 7
    source = f"<p>x {'<b>' * n}y{'</b>' * n} z</p>"
    assert translated_here(source, "html").decode() == source.upper().replace("B>", "b>").replace("P>", "p>")


def test_marks_that_would_take_minutes_are_refused() -> None:
    with pytest.raises(DataError, match=r"a paragraph of 40,000 characters holds 1,000 marks.*split the paragraph"):
        Unit("x" * 40_000, (Mark(0, 1),) * 1_000).check()


def test_texts_with_tags_are_translated_here() -> None:
    # 0 the 1 red 2 car 3 stops 4 . -> 0 el 1 coche 2 rojo 3 para 4 .
    fake = Fake(
        {"the red car stops.": "el coche rojo para.", "Two.": "Dos.", "say hello now": "x", "say 7 now": "di 7 ya"},
        {"the red car stops.": [(0, 0), (1, 2), (2, 1), (3, 3), (4, 4)], "say 7 now": [(0, 0), (2, 2)]},
    )
    texts = ['<p>the <b>red</b> <x id="7"></x>car stops.</p><p>Two.</p>', 'say <k>hello</k> <x id="1"></x>now']
    html, xml = (
        translate_markup([text], is_html=is_html, translate=fake.translate, align=fake.align, ignored=["K", "x"])
        for text, is_html in zip(texts, (True, False), strict=True)
    )
    assert html == ['<p>el <x id="7"></x>coche <b>rojo</b> para.</p><p>Dos.</p>']
    assert xml == ['di <k>hello</k> <x id="1"></x>ya']


@pytest.mark.timeout(40)  # in a list, each tag was compared with each name
def test_thousands_of_tags_are_told_from_a_million_names() -> None:
    text, names = "<p>a</p>" * 4_000, [f"x{i}" for i in range(1_000_000)]
    (found,) = translate_markup([text], is_html=True, translate=Fake({"a": "b"}).translate, ignored=names)
    assert found == "<p>b</p>" * 4_000


def test_a_document_is_given_as_bytes_and_short_texts_as_a_list() -> None:
    fake, path, nothing = Fake({}), Path("x.html"), cast(Any, None)
    with pytest.raises(
        ConfigError, match=r"a document is a PosixPath; give its bytes, as Path.read_bytes returns, not"
    ):
        translate_document(path, suffix="html", translate=fake.translate)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"'none' is not a format of documents here; convert it to one of .arb, .csv"):
        translate_document(b"x", suffix=nothing, translate=fake.translate)
    with pytest.raises(ConfigError, match=r"translate is a Fake; give a function, as Translator.translate is, not"):
        translate_document(b"x", suffix="html", translate=cast(Any, fake))
    with pytest.raises(ConfigError, match=r"limits is a int; give a yiwen.documents.sandbox.Limits, or None, not 9"):
        translate_document(b"x", suffix="html", translate=fake.translate, limits=cast(Any, 9))
    with pytest.raises(ConfigError, match="markup takes a list of texts; give a column of strings"):
        translate_markup("<b>x</b>", is_html=True, translate=fake.translate)


def test_languages_that_are_not_told_are_not_known() -> None:
    nothing, fake = cast(Any, None), Fake({"x": "y"})
    rules: Any = {"suffix": "html", "translate": fake.translate, "src_lang": nothing, "tgt_lang": nothing}
    assert translate_document(b"<p>x</p>", **rules) == b"<p>y</p>"


def test_a_translation_that_is_a_mere_text_is_refused() -> None:
    with pytest.raises(
        ConfigError, match=r"a translation is a str; give what has a `text`, as Translator.translate ret"
    ):
        translate_document(b"<p>x</p>", suffix="html", translate=lambda texts: [*texts])  # type: ignore[misc]


def test_as_many_translations_have_to_come_back_as_there_are_texts() -> None:
    fake, page = by(str.upper), b"<p>one</p><p>two</p>"
    with pytest.raises(ConfigError, match=r"^of 2 texts 1 translations came back; return one each, in order$"):
        translate_document(page, suffix="html", translate=lambda texts: fake(texts[:1]))
    with pytest.raises(ConfigError, match=r"^of 2 texts 3 translations came back; return one each"):
        translate_document(page, suffix="html", translate=lambda texts: fake([*texts, "three"]))
    with pytest.raises(ConfigError, match=r"^what came back is a NoneType; give a list of translations, not None"):
        translate_document(page, suffix="html", translate=cast(Any, lambda texts: None))


def test_sentences_of_urdu_a_line_each_are_texts_apart() -> None:
    rows = [f"{word} {'ایک کتا گھر جاتا ہے' * 2}۔" for word in ("پہلا", "دوسرا", "آخری")]
    assert [unit.text for unit in _units("\n".join(rows), "txt")] == rows


def test_a_cue_that_ends_with_an_arabic_comma_goes_on() -> None:
    assert len(_units(cue(1, "رجل في قميص،") + cue(2, "يقف هنا"), "srt")) == 1
    assert len(_units(cue(1, "رجل هنا؟") + cue(2, "يقف هنا"), "srt")) == 2


def test_a_line_is_cut_at_its_tabs() -> None:
    source = "- A man\tTwo dogs run.\t12:30\n"
    assert [unit.text for unit in _units(source, "txt")] == ["A man", "Two dogs run."]
    assert translated_here(source, "txt").decode() == source.upper()


@pytest.mark.parametrize(
    ("source", "target", "written"),
    [
        ("Use `foo` and the `n`th item", "Nimm foo und das nth Teil", "Nimm `foo` und das `n`th Teil"),
        ("An item has `n` and no sum", "Ein Ding hat n und no Sum", "Ein Ding hat `n` und no Sum"),
        ("Take a value of `a`", "Nimm a Wert von a", "Nimm a Wert von `a`"),
        ("Press `Ctrl``C` now", "现在按Ctrl``C键", "现在按`Ctrl``C`键"),
    ],
)
def test_a_name_of_one_letter_is_not_looked_for_inside_of_words(source: str, target: str, written: str) -> None:
    assert translated_here(f"{source}\n", "md", lambda text: target).decode() == f"{written}\n"


def test_a_dash_behind_a_position_of_subrip_is_another_speakers() -> None:
    source = "1\n00:00:01,000 --> 00:00:02,000\n{\\an8}- Who is there\n- nobody\n"
    assert texts_of(source, "srt") == ["Who is there", "nobody"]
    assert translated_here(source, "srt").decode() == source.replace("Who is there\n- nobody", "WHO IS THERE\n- NOBODY")
