"""What the model reads and what is written of its answers: case, scripts, and what is no sentence at all."""

from __future__ import annotations

import sys
from dataclasses import replace
from types import FrameType

import pytest

from tiny_model import TinyRun
from yiwen.analysis.alignment import cut
from yiwen.bundle import open_bundle
from yiwen.text.glossary import Glossary
from yiwen.text.reading import Reader, Reading, as_read
from yiwen.text.subword import Subword, TokenizerConfig, train_subword

SENTENCES = [
    "The man in the red house is reading a long book about Berlin.",
    "A woman and a child are sleeping in the green room.",
    "Angela Merkel lives in Berlin, and John Smith in London.",
    "Two dogs are running over the wide street.",
]


@pytest.fixture(scope="session")
def english() -> Subword:
    """Subwords that know how these words are usually written."""
    return train_subword(lambda: SENTENCES * 20, TokenizerConfig(vocab_size=420, kind="bpe"))[1]


def reader(subword: Subword, src: str = "en", tgt: str = "de", asked: str = "") -> Reader:
    return Reader(src_lang=src, model_lang=tgt, tgt_lang=asked or tgt, subword=subword)


@pytest.mark.parametrize(
    "text",
    ["42", " 3.14 % ", "***", "—", "2024-01-05", "https://a.b/c?d=e", "me@example.com", "report_v2.final.pdf", "{name}",
     "%(count)d", '<x id="1"/>', "😀😀", "1. 2. 3.", "GPT-4", "`x = 1`", "+49 30 1234567"],
)  # fmt: skip
def test_what_is_no_language_is_written_as_it_is(text: str, english: Subword) -> None:
    for languages in (("en", "de"), ("en", "zh"), ("zh", "en")):
        assert reader(english, *languages).read(text) == Reading("", text, ("passed_through",))
        assert reader(english, *languages).read(text, must=True).text == text.strip()


@pytest.mark.parametrize("text", ["Chapter 3", "5 km", "See https://a.b/c", "Call foo(x)", "第3章", "Nr. 5", "x"])
def test_what_has_a_word_in_it_is_translated(text: str, english: Subword) -> None:
    assert reader(english, "en", "fr").read(text).text == text


def test_blanks_stay_and_control_characters_do_not(english: Subword) -> None:
    assert reader(english).read(" \t\u200b") == Reading("", " \t\u200b")
    assert reader(english).read("42\x1f").output == "42"
    assert reader(english).read("  42").output == "  42"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("Windows、macOS（M1）和", ""),  # which has a word of Chinese
        ("Windows、macOS（M1）。", "Windows, macOS (M1)."),
        ("A：Yes！B：“No”；", "A: Yes! B: “No”;"),
        ("【NEW】《Nature》、「OK」", "[NEW] “Nature”, “OK”"),
        ("  Tom、GPT-4、a.txt（https://a.b/c）", "  Tom, GPT-4, a.txt (https://a.b/c)"),
        ("Tom、`a，b`、{name}", "Tom, `a，b`, {name}"),
        ("A、1，000、2", "A, 1,000, 2"),
        ("２０２４，９：３０", "２０２４，９：３０"),  # nothing but numbers: as it is
    ],
)
def test_chinese_marks_around_what_is_not_translated_are_no_part_of_another_language(
    text: str, written: str, english: Subword
) -> None:
    assert reader(english, "zh", "en").read(text).output == written
    assert reader(english, "ko", "en").read("A、B（C）").output == "A、B（C）"


def test_a_text_in_the_target_language_stays_and_is_flagged(english: Subword) -> None:
    assert reader(english, "en", "zh").read("他笑了。") == Reading("", "他笑了。", ("already_target",))
    assert reader(english, "en", "zh-Hans", "zh-Hant").read("头发").output == "頭髮"
    assert reader(english, "en", "zh").read("頭髮").output == "头发"
    for language, text in (
        ("zh-Hant", "「岳飛」說：范先生在這裏，余小姐也在。"),
        ("zh-Hans", "毕昇发明了『活字』印刷术。"),
    ):
        assert reader(english, "en", "zh-Hans", language).read(text).output == text
    german = "Der Mann liest ein Buch über die Stadt."
    assert reader(english, "en", "de").read(german) == Reading("", german, ("already_target",))


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("THE MAN IS READING A BOOK ABOUT BERLIN.", "The man is reading a book about Berlin."),
        ("A Woman And A Child Are Sleeping", "A woman and a child are sleeping"),
        ("tHe MaN iS sLEePing iN tHE rOoM", "The man is sleeping in the room"),
        ("THE FILE README.md IS IN THE HOUSE", "The file README.md is in the house"),
        ("ZXQ VKJ QXV", "Zxq vkj qxv"),  # words that no vocabulary knows
        ("Two Dogs Are Running", "Two dogs are running"),
        ("SLEEPING MAN", "Sleeping man"),  # headings and buttons
        ("SLEEPING", "Sleeping"),
    ],
)
def test_capitals_and_odd_case_are_read_in_usual_case(text: str, read: str, english: Subword) -> None:
    found = reader(english).read(text)
    assert (found.text.replace("File", "file"), found.flags) == (read, ("recased",))
    assert as_read(text, "en", english) == found.text
    assert as_read(text, "zh", english) == text


@pytest.mark.parametrize(
    ("lang", "answer", "written"),
    [
        ("tr", "İstanbul güzel bir şehir, ışık iyi.", "İSTANBUL GÜZEL BİR ŞEHİR, IŞIK İYİ."),
        ("el", "Καλημέρα, ο δάσκαλος.", "ΚΑΛΗΜΕΡΑ, Ο ΔΑΣΚΑΛΟΣ."),
        ("de", "Die Straße ist groß.", "DIE STRASSE IST GROSS."),
    ],
)
def test_capitals_are_those_of_the_language(lang: str, answer: str, written: str, english: Subword) -> None:
    work = reader(english, "en", lang)
    reading = work.read("THE MAN IS READING A BOOK ABOUT BERLIN.")
    assert reading.is_capitals
    assert work.write(reading, answer) == written


def test_a_text_in_capitals_is_read_in_the_small_letters_of_its_language() -> None:
    texts = {
        "tr": ("İstanbul güzel bir şehir ve ışık iyi.", "İSTANBUL GÜZEL BİR ŞEHİR VE IŞIK İYİ."),
        "sr": ("Ово је велика кућа на мору.", "ОВО ЈЕ ВЕЛИКА КУЋА НА МОРУ."),
        "sr-Latn": ("Ovo je velika kuća na moru.", "OVO JE VELIKA KUĆA NA MORU."),
        "kk": ("Бұл үлкен үй теңіз жағасында тұр.", "БҰЛ ҮЛКЕН ҮЙ ТЕҢІЗ ЖАҒАСЫНДА ТҰР."),
        "hy": ("Ուսուցիչը տեսնում է մի գիրք այսօր։", "ՈՒՍՈՒՑԻՉԸ ՏԵՍՆՈՒՄ Է ՄԻ ԳԻՐՔ ԱՅՍՕՐ։"),
    }
    for lang, (usual, capitals) in texts.items():
        config = TokenizerConfig(vocab_size=320, kind="bpe")
        subword = train_subword(lambda usual=usual: [usual] * 20, config)[1]  # type: ignore[misc]
        found = reader(subword, lang, "en").read(capitals)
        assert (found.text, found.flags) == (usual, ("recased",))


def test_a_sharp_s_between_capitals_is_one_of_them() -> None:
    subword = train_subword(lambda: ["Die große Straße ist heute gesperrt."] * 20, TokenizerConfig(vocab_size=300))[1]
    work = reader(subword, "de", "en")
    assert work.write(work.read("DIE GROßE STRAßE IST HEUTE GESPERRT."), "It is closed.") == "IT IS CLOSED."
    assert work.write(work.read("Die große Straße ist heute gesperrt."), "It is closed.") == "It is closed."


def test_a_term_at_the_beginning_begins_as_its_language_does(english: Subword) -> None:
    names = (("tr", "insan", "İnsan"), ("ka", "ბავშვი", "ბავშვი"), ("de", "hund", "Hund"), ("de", "a.txt", "a.txt"))
    names += (
        ("de", "ein Hund", "Ein Hund"),
        ("de", "igel", "Igel"),
        ("de", "iPhone", "iPhone"),
        ("de", "eBay in Berlin", "eBay in Berlin"),
    )
    for lang, term, written in names:
        work = replace(reader(english, "en", lang), glossary=Glossary({"man": term, "here": "X"}))
        assert work.write(work.read("Man is here."), f"{term} X") == f"{written} X"
        assert work.write(work.read("Man is here."), f"x {term} X") == f"x {term} X"


def test_what_looks_at_a_text_reads_it_as_the_translator_does_where_each_character_keeps_its_place(
    english: Subword,
) -> None:
    longer = "ßOOK MAN IS READING A BOOK ABOUT BERLIN."
    assert reader(english).read(longer).text == "Ssook man is reading a book about Berlin."
    assert as_read(longer, "en", english) == longer
    spans = cut("THE MAN IS READING A BOOK ABOUT BERLIN.", english, "en").words
    usual = cut("The man is reading a book about Berlin.", english, "en")
    assert (spans, cut("THE MAN IS READING A BOOK ABOUT BERLIN.", english, "en").ids) == (usual.words, usual.ids)


@pytest.mark.parametrize(
    "text",
    [*SENTENCES, "USA, UK, EU", "NASA", "Angela Merkel, John Smith", "Das Haus und der Mann", "the man is sleeping",
     "The API of HTTP and JSON", "I", "A4 B5", "I am OK.", "iPhone", "iPhone SE", "New York", "SLEEP"],
)  # fmt: skip
def test_usual_case_is_left_alone(text: str, english: Subword) -> None:
    found = reader(english, tgt="fr").read(text)
    assert (found.text or found.output, "recased" in found.flags) == (text, False)


def test_languages_without_case_are_left_alone(english: Subword) -> None:
    text = "他说 HTTP API 和 JSON REST"
    assert reader(english, "zh", "en").read(text).text == text


def test_what_was_in_capitals_is_written_in_capitals_but_for_addresses(english: Subword) -> None:
    german = reader(english)
    capitals = german.read("THE MAN IS READING A LONG BOOK")
    assert german.write(capitals, "Der Mann liest a_b auf www.a.de.") == "DER MANN LIEST a_b AUF www.a.de."
    assert german.write(german.read("A Woman And A Child Are Sleeping"), "Eine Frau") == "Eine Frau"


def test_a_word_gets_no_full_stop_that_it_did_not_have(english: Subword) -> None:
    german = reader(english)
    for word, answer, written in (
        ("dog", "Hund.", "Hund"),
        ("Dog.", "Hund.", "Hund."),
        ("two dogs", "Zwei Hunde.", "Zwei Hunde."),
        ("dog", "usw. usf.", "usw. usf"),
        ("dog", "U.S.", "U.S."),
        ("dog।", "Hund.", "Hund."),
        ("dog۔", "Hund.", "Hund."),
    ):
        assert german.write(german.read(word), answer) == written
    assert [reader(english, "zh", "en").read(text).is_word for text in ("计算机", "我喜欢计算机。")] == [True, False]


def test_a_blank_at_the_edge_of_an_answer_is_not_written(english: Subword) -> None:
    german = reader(english)
    assert german.write(german.read("Two dogs"), " zwei Hunde ") == "zwei Hunde"


def test_chinese_answers_are_set_as_chinese_is_and_converted_where_asked(english: Subword) -> None:
    plain, asked = reader(english, "en", "zh"), reader(english, "en", "zh-Hans", "zh-TW")
    reading = plain.read("He said: yes.")
    assert plain.write(reading, "他说: “头发") == "他说：“头发”"
    assert asked.write(asked.read("He said: yes."), "他说: “头发") == "他說：「頭髮」"
    assert plain.write(plain.read("“He said"), "“他说") == "“他说"  # the quotation goes on in the next sentence


def test_traditional_chinese_is_read_as_the_model_reads_it(english: Subword) -> None:
    assert reader(english, "zh", "en").read("他說：「頭髮」").text == "他说：“头发”"
    assert reader(english, "zh-Hant", "en").read("他说：“头发”").text == "他說：「頭髮」"
    assert reader(english, "zh-Hans", "en").read("他笑了。").text == "他笑了。"
    assert reader(english, "en", "zh-Hans", "zh-Hant").to_write(" 頭髮") == "头发"
    assert reader(english, "en", "zh-Hans").to_write("頭髮ＡＢＣ") == "头发ABC"  # which the model would spell in bytes


def test_traditional_chinese_beside_code_is_read_so_too_and_the_code_stays(english: Subword) -> None:
    assert reader(english, "zh", "en").read("用「a.txt」打開這個軟體").text == "用“a.txt”打开这个软体"
    assert reader(english, "zh", "en").read("打開 `這個軟體` 的頭髮").text == "打开 `這個軟體` 的头发"


@pytest.mark.parametrize("said", ["I like the dog's house", "I like the dog’s house"])
@pytest.mark.parametrize("term", ["dog's", "dog’s"])
def test_a_term_with_the_other_apostrophe_is_no_lack(english: Subword, term: str, said: str) -> None:
    work = replace(reader(english, "en", "de"), glossary=Glossary({"here": term}))
    reading = work.read("I am here")
    assert not work.lacks_term(reading, said)
    assert work.lacks_term(reading, "I like the house")


def test_a_glossary_of_one_kind_of_chinese_is_kept_to_in_the_other(english: Subword) -> None:
    simplified = replace(reader(english, "zh", "en"), glossary=Glossary({"软件": "software"}))
    traditional = replace(simplified, glossary=Glossary({"軟件": "software"}))
    for work in (simplified, traditional):
        assert [work.read(text).terms for text in ("这个软件很好", "這個軟件很好")] == [("software",)] * 2


@pytest.mark.parametrize("uses_symbols", [False, True])
def test_a_text_of_terms_alone_is_set_and_in_the_script_that_the_models_answers_are_in(
    english: Subword, uses_symbols: bool
) -> None:
    def written(tgt: str, asked: str, term: str, text: str) -> Reading:
        how = {"n_symbols": 3 * uses_symbols, "uses_symbols": uses_symbols}
        return replace(reader(english, "en", tgt, asked), glossary=Glossary({"dog": term}), **how).read(text)

    assert written("de", "de", "das Tier", "Dog.") == Reading("", "das Tier.")
    assert written("de", "de", "das Tier", "dog: a.txt ⟦1⟧") == Reading("", "das Tier: a.txt ⟦1⟧")
    assert written("zh-Hans", "zh-Hans", "软件", "Dog, dog.") == Reading("", "软件，软件。")
    assert written("zh-Hans", "zh-Hant", "软件", "Dog") == Reading("", "軟件")


@pytest.mark.parametrize("said", ["软件", "軟件", "ＤＶＤ", "DVD"])
def test_a_term_in_the_other_script_or_width_is_no_lack(english: Subword, said: str) -> None:
    for term in ("軟件", "软件") if "件" in said else ("ＤＶＤ", "DVD"):
        work = replace(reader(english, "en", "zh"), glossary=Glossary({"dog": term}))
        assert not work.lacks_term(work.read("The dog is a man."), f"我说{said}是人。")


@pytest.mark.parametrize("term", ["Yahoo!", "Café!", "LEGO(乐高)", "第三届,下", "软件"])
def test_a_term_in_chinese_is_written_as_the_glossary_has_it(english: Subword, term: str) -> None:
    work = replace(reader(english, "en", "zh"), glossary=Glossary({"dog": term}))
    reading = work.read("The dog is a man.")
    assert work.write(reading, f"我说,{term}是人.") == f"我说，{term}是人。"
    assert work.write(reading, f"是{term}.") == f"是{term}。"


@pytest.mark.parametrize(("asked", "written"), [("zh-Hans", "我说，LEGO(乐高)。"), ("zh-Hant", "我說，LEGO(樂高)。")])
def test_a_traditional_term_is_searched_for_in_simplified_characters_and_keeps_its_signs(
    english: Subword, asked: str, written: str
) -> None:
    work = replace(reader(english, "en", "zh", asked), glossary=Glossary({"dog": "LEGO(樂高)"}))
    reading = work.read("The dog is a man.")
    assert work.write(reading, f"我说,{work.to_write(reading.terms[0])}.") == written


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Hello，world！How are you？", "Hello, world! How are you?"),
        ("Ｔｈｅ　ｄｏｇ。", "The dog."),
        ("At 10：30（see a.txt）：１，０００。", "At 10:30 (see a.txt): 1,000."),
        ("„Größe“ — “l’été”…", "„Größe“ — “l’été”…"),
    ],
)
def test_marks_and_letters_of_a_chinese_keyboard_are_read_as_latin_text_has_them(
    english: Subword, text: str, read: str
) -> None:
    assert reader(english, "en", "zh").read(text).text == read
    assert reader(english, "ko", "en").read("《춘향》，").text == "《춘향》，"


def test_tiny_sentences_are_read_as_they_are(tiny_run: TinyRun) -> None:
    bundle = open_bundle(tiny_run.best)
    lines = (tiny_run.recipe.parent / "test.en").read_text("utf-8").split("\n")[:-1]
    assert [reader(bundle.source).read(line).text for line in lines] == lines


def test_capitals_of_a_script_that_nobody_writes_in_capitals_are_left_out(english: Subword) -> None:
    georgian = reader(english, "en", "ka")
    assert georgian.write(georgian.read("THE MAN AND THE WOMAN ARE READING A BOOK"), "ძაღლი") == "ძაღლი"


def test_a_text_of_no_known_language_keeps_its_case(english: Subword) -> None:
    assert cut("THE MAN IS READING A BOOK", english).ids == english.encode(["THE MAN IS READING A BOOK"])[0]


def test_terms_of_both_kinds_of_chinese_are_found_in_one_text(english: Subword) -> None:
    work = replace(
        reader(english, "zh", "en"), glossary=Glossary({"北京": "Peking", "软件": "software", "寫": "write"})
    )
    assert work.read("我在北京寫軟件。").terms == ("Peking", "write", "software")


@pytest.mark.parametrize(
    "text", ["See https://a.org/dog now.", "Open dog.txt.", 'A <a dog="1"> tag', "Hi {dog}!", "`dog`"]
)
def test_a_word_inside_of_an_address_a_placeholder_or_code_is_no_term(text: str, english: Subword) -> None:
    work = replace(reader(english), glossary=Glossary({"dog": "Hund"}), n_symbols=3, uses_symbols=True)
    assert work.read(text).terms == ()
    assert work.read(f"{text} A dog").terms == ("Hund",)


def test_terms_and_file_names_of_a_line_are_not_compared_each_with_each(english: Subword) -> None:
    work = replace(reader(english), glossary=Glossary({"dog": "Hund"}), n_symbols=3, uses_symbols=True)
    n_calls = [0, 0]
    for turn, n in enumerate((100, 400)):
        work.read("A dog a.txt, " * n)  # what is loaded and made once is ready

        def count(frame: FrameType, event: str, argument: object, turn: int = turn) -> None:
            n_calls[turn] += event == "call"

        sys.setprofile(count)
        reading = work.read("A dog a.txt, " * n)
        sys.setprofile(None)
        assert len(reading.terms) == n
    assert n_calls[1] < 5 * n_calls[0]


@pytest.mark.parametrize("term", ["COVID", "{dog}", "a dog.txt"])
def test_what_is_a_word_by_itself_or_holds_a_whole_address_is_a_term(term: str, english: Subword) -> None:
    work = replace(reader(english), glossary=Glossary({term: "X"}))
    assert work.read("COVID-19 in {dog} and a dog.txt").terms == ("X",)


def test_what_tells_a_model_of_several_languages_which_to_write_stays_in_any_case(english: Subword) -> None:
    work = replace(reader(english), n_symbols=3)
    assert work.read("<2de> THE MAN IN THE RED HOUSE").text == "<2de> The man in the red house"
    assert as_read("<2de> THE MAN IN THE RED HOUSE", "en", english) == "<2de> The man in the red house"
