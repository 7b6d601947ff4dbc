"""Sentences and clauses are found where a reader sees them, and never a character is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yiwen.text.segment import Span, clauses, sentences, words

ENGLISH = [
    "Hello World.| My name is Jonas.",
    "What is your name?| My name is Jonas.",
    "My name is Jonas E. Smith.",
    "Please turn to p. 55.",
    "They closed the deal with Pitt, Briggs & Co. at noon.",
    "They closed the deal with Pitt, Briggs & Co.| It closed yesterday.",
    "I can see Mt. Fuji from here.",
    "St. Michael's Church is on 5th st. near the light.",
    "That is JFK Jr.'s book.",
    "I live in the U.S.| How about you?",
    "I work for the U.S. Government in Virginia.",
    "At 5 a.m. Mr. Smith went to the bank.",
    "She has $100.00 in her bag.",
    "She has $100.00.| It is in her bag.",
    "He teaches science (He worked for 5 years as an engineer.) at the University.",
    "Her email is Jane.Doe@example.com.| I sent her an email.",
    "The site is: https://www.example.50.com/new-site/awesome_content.html.| Please check it out.",
    "She turned to him, 'This is great.' she said.",
    'She turned to him, "This is great." she said.',
    'She turned to him, "This is great."| She held the book out to show him.',
    'It grows.| They become frogs."| And she says, "What are frogs?"',
    "Hello!!| Long time no see.",
    "Hello?!| Is that you?",
    "1. The first item| 2. The second item",
    "1.) The first item.| 2.) The second item.| 3.) The third.",
    "He was born in 1990.| She was not.",
    "She works at Yahoo! in the accounting department.",
    "Two came; Ann did not.",
    "1. Apples from here| 2. Pears from there| 3. Plums",
    "We make a good team, you and I.| Did you see Albert I. Jones yesterday?",
    "I never meant that....| She left the store.",
    "Wait... what?| I... I don't know.| See e.g. the U.S. Army, i.e. us, etc.| The end.",
    "J. R. R. Tolkien wrote it in 1954.| It sold well.",
    "Dr. No met Prof. X at 3.30 p.m. on Jan. 5.| They talked.",
    "Version 2.0 is out!| See section 3.2.1.| It is new.",
    "He left (did he?) and came back.| (Who knows why.)| Then he slept.",
    "Call setup.py or main.c.| Both work.",
    "He said “Stop.”| She left.",
    "Ha. Ha. Ha.",
    "Adm. Mullen met Pres. Obama.| See Sec. 3 of it, or Ch. 4.",
    "I did 10 reps.| Then I met the Reps. Smith and Jones.",
    "Is it art?| 5 of us came.| He studied art.| She did not.",
    "He saw the Sun.| Then he went to Mass.| It rained in Tampa, Fla.| She was ill.| Kim was not.",
]
GERMAN = [
    "Er kam am 3. Oktober.| Das Wetter, z. B. der Regen, war schlecht.| Dr. Müller blieb.",
    "„Komm!“| Sie ging, d. h. sie lief.",
    "Das steht in Art. 5 Abs. 1 GG.| Es kostet 8,4 Mrd. EUR.",
    "Hr. Müller wohnt in einer Straße des XXII. Bezirkes.| Es sind 5 Mio. Menschen.| Das ist viel.",
]
FRENCH = [
    "Il a dit : « Oui. »| Elle rit.",
    "Elle a dit : « Non\u202f!\u00a0», puis elle rit.| Il part.",
    "MM. Dupont et Durand, art. 5, mesurent 5 mm.| Elle rit.",
]
CHINESE = [
    "你好。|今天天气很好！|你呢？|我也是……",
    "“我不去。你去吧。”他说。|天黑了……他还没回来。|你呢？",
    "他大喊“救命！”然后跑了。|真的？！|是的。",
    "他问：“你去哪儿？”|我没有回答。",
    "「你好嗎？」他問。|「好。」她答道。",
    "圆周率约为3.14。|请访问 www.example.com。|邮箱是a.b@c.cn！",
    "好吗?|好的.|再见",
    '他走了。|"你好。"她说。|"走吧。"|"好。"|天黑了。',
    f'他说："{"我走了。|" * 40}你呢？"|她说："好。"',
    "他（你认识他吗？）走了。|（他走了。）|好。",
    "1. 苹果。|2. 梨。",
    "一、苹果；二、梨。|使用Node.js开发。|《你好，李焕英！》是电影。",
    "请看 http://a.cn/b?c=d&e。|文件是 a.tar.gz。",
    "太好了!!|你来吗??|真的?!|他走了...又回来了.|好..吧!!!",
]
JAPANESE = [
    "これは本です.|すごい!|本当に?|はい。",
    "これは本です．|円周率は３．１４です．|彼はＤｒ．スミスだ．|終わり．",
]
HEBREW = [
    'ד"ר כהן הגיע לעיר.| אחר כך דיבר עם מפקד בצה"ל.| מה שלומך?',
    'המחיר 3.5 ש"ח.| הוא אמר: "אני לא. לא יודע" והלך.',
]
INDIC = [
    ("hi", "वह घर गया।|बारिश हो रही थी।| वह बी.ए. पास है।"),
    ("bn", "সে বাড়ি গেল।|বৃষ্টি হচ্ছিল।"),
    ("am", "እሱ ወደ ቤት ሄደ።|ዝናብ ነበር።"),
]
WORDS_THAT_ARE_ABBREVIATIONS_ELSEWHERE = [
    ("sv", "Så sa hon.| Vi ses i jul.| Han är fri.| Stäng av.| Det kom sen.| Slut."),
    ("fi", "Tiedän sen.| Mutta en kerro."),
    ("nl", "Dat weet ik al.| Het glas is vol.| Drink maar."),
    ("tr", "Bunu yapan sen.| Bunu al.| Bitti."),
    ("cs", "Byl to jen sen.| Nevím co.| Pojď."),
    ("es", "Creo que no.| Es un ave.| Vuela."),
    ("it", "Credo di no.| Non so chi è.| Andiamo."),
    ("pt", "Sei quem é.| Vamos."),
    ("hu", "Ez ő.| Szép est.| Jó éjt."),
    ("ru", "Это был не я.| Он родился в 1990 г.| Потом уехал."),
    ("vi", "Vâng ạ.| Bây giờ là mùa thu.| Anh hát dân ca.| Hay quá."),
    ("fr", "C'est un vol.| Il est à l'est.| Ils étaient sept.| M. Le Pen part le 5 sept. 2020."),
    ("en", "I like figs.| It took 5 ms.| He said no.| Peter saw Figs. 3 and 4, vol. 3, no. 5."),
]


@pytest.mark.parametrize(
    ("lang", "marked"),
    [("en", text) for text in ENGLISH]
    + [("de", text) for text in GERMAN]
    + [("fr", text) for text in FRENCH]
    + [("zh", text) for text in CHINESE]
    + [("ja", text) for text in JAPANESE]
    + [("he", text) for text in HEBREW]
    + INDIC
    + WORDS_THAT_ARE_ABBREVIATIONS_ELSEWHERE,
)
def test_sentences_end_where_a_reader_sees_it(lang: str, marked: str) -> None:
    text = marked.replace("|", "")
    found = [text[start:end] for start, end in sentences(text, lang)]
    assert found == [part.strip() for part in marked.split("|")]


@pytest.mark.parametrize("pair", ["“”", "《》", "「」", "『』", "（）", "【】", "``", '""', "()", "[]"])
def test_no_sentence_ends_between_two_marks_of_a_pair(pair: str) -> None:
    assert len(sentences("He said Stop. Go. and left.", "en")) == 2
    assert len(sentences(f"He said {pair[0]}Stop. Go.{pair[1]} and left.", "en")) == 1


def test_quotes_of_two_backticks_are_no_code() -> None:
    assert len(sentences("``I stop. You go,'' he said. ``Now.''", "en")) == 3


@pytest.mark.parametrize(
    "lang", ["de", "da", "nb", "nn", "no", "fi", "cs", "sk", "pl", "hu", "hr", "sl", "et", "lv", "is"]
)
def test_the_day_of_a_date_ends_no_sentence_where_ordinals_have_a_full_stop(lang: str) -> None:
    assert len(sentences("Es begann am 13. Oktober.", lang)) == 1
    assert len(sentences("Es begann 1913. Oktober kam.", lang)) == 2
    assert len(sentences("There were 13. October came.", "en")) == 2


def test_languages_without_rules_of_their_own_are_cut_at_their_full_stops() -> None:
    for lang, marked in (
        ("ja", "「行く。」と言った。|彼は笑った。"),
        ("hi", "यह एक है।| यह दो है।"),
        ("ar", "هل أنت هنا؟| نعم."),
        ("ru", "Это раз.| Это два?| Да!"),
        ("ko", "안녕하세요.| 반갑습니다."),
        ("es", "¿Qué?| ¡Nada!| El Sr. Ruiz vino con EE. UU. y 3 más."),
        ("ka", "ბავშვი ხედავს ძაღლს.| მეფე აქ არის."),
        ("mr", "मुले शाळेत जात आहेत.| ती घरी येतात."),
        ("km", "ខ្ញុំទៅផ្សារ។| អ្នកទៅណា៕"),
        ("ar", "هل أنت هنا؟|نعم."),
        ("my", "ကျွန်တော်သွားသည်။|သူလာသည်။"),
        ("am", "ይህ ምንድን ነው፧| ይህ ቤት ነው።"),
        ("el", "Πού είναι το βιβλίο;| Δεν ξέρω."),
        ("it", "Il sig. Rossi e il dott. Bianchi parlano.| Poi vanno."),
        ("ru", "Он живёт на ул. Ленина.| Она нет."),
        ("pl", "Mieszka przy ul. Długiej.| Ona nie."),
        ("de", "Sie wohnt in der Hauptstr. Nummer fünf.| Abb. 5 zeigt es.| Dr. med. Weiß kommt."),
        ("en", "He studied art.| She did not."),
        ("cs", "Viz čl. 5 a obr. 13 tady.| Přišel MUDr. Novák.| Odešel."),
        ("es", "La Dña. Ana vino.| El Lic. Ruiz no."),
        ("it", "Vedi l'art. 5 e il cap. 13.| Il libro è mio.| Maria lo sa."),
        ("nl", "Mw. Jansen en ds. Smit kwamen.| Zij gingen."),
        ("pl", "Zob. ust. 2 i rys. 15 tam.| Przyszedł ks. Nowak."),
        ("pt", "A Profa. Ana veio no séc. XX aqui.| Ele foi."),
        ("ru", "См. гл. 5 и табл. 13.| Это, напр. Москва.| Да."),
        ("sv", "Det är vi.| Anna kom."),
        ("th", "เขาไป กทม. เมื่อวานนี้ หนัก 5 กก. หรือ?| ใช่"),  # Thai has no full stop
        ("lo", "ໝາດື່ມ.| ແມວໜັກ 5 ກກ. ແລະ ນອນ.| ສະບາຍດີ."),
    ):
        text = marked.replace("|", "")
        assert [text[a:b] for a, b in sentences(text, lang)] == [part.strip() for part in marked.split("|")]


def test_clauses_of_other_scripts_end_behind_their_commas() -> None:
    for text in ("نعم،| لا؛| ربما", "አዎ፣| አይ፤| ምናልባት", "དང་པོ།| གཉིས་པ"):
        found = text.replace("|", "")
        assert [found[a:b] for a, b in clauses(found)] == [part.strip() for part in text.split("|")]


def test_a_line_break_ends_a_sentence_and_blank_lines_hold_none() -> None:
    text = "One\n\n \u3000\n two three.\r\nFour. Five\n"
    assert [text[a:b] for a, b in sentences(text, "en")] == ["One", "two three.", "Four.", "Five"]


def test_clauses_end_behind_commas_and_words_at_blanks() -> None:
    text = "However, 1,000 of them; 他说，是的：好——对吧 - yes"
    assert [text[a:b] for a, b in clauses(text)] == [
        "However,",
        "1,000 of them;",
        "他说，",
        "是的：",
        "好——",
        "对吧 -",
        "yes",
    ]
    assert words(" a  b\u3000c ") == [(1, 2), (4, 5), (6, 7)]


@given(
    text=st.text(max_size=80)
    | st.lists(st.sampled_from([*"aB你.。!？…,，；;\"“”'(（)） \n\r1"]), max_size=60).map("".join),
    lang=st.sampled_from(["en", "zh", "de", "xx"]),
)
def test_spans_and_the_gaps_between_them_rebuild_the_text(text: str, lang: str) -> None:
    def check(spans: list[Span]) -> None:
        done, parts = 0, []
        for start, end in spans:
            gap = text[done:start]
            assert gap.strip() == ""
            assert text[start:end] == text[start:end].strip() != ""
            parts += [gap, text[start:end]]
            done = end
        assert text[done:].strip() == ""
        assert "".join(parts) + text[done:] == text

    check(sentences(text, lang))
    check(clauses(text))
    check(words(text))
    assert not any("\n" in text[a:b] for a, b in sentences(text, lang))


def test_time_grows_with_the_length_of_a_line_and_no_faster() -> None:
    for text in ("(" * 100_000, "“" * 100_000, "a. " * 30_000, "." * 100_000, '"a" ' * 30_000, "1. " * 30_000):
        assert sum(end - start for start, end in sentences(text, "en")) > 0


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        ("bg", "Живее на ул. Раковски."),
        ("bn", "ডা. রহমান এসেছেন।"),
        ("bn", "মো. করিম এসেছেন।"),
        ("cs", "Bydlí např. Praha tady."),
        ("da", "Vi mødes kl. 10 i dag, fx. Odense, tlf. 12 her."),
        ("el", "Ο κ. Νικόλαος ήρθε."),
        ("el", "Βλ. σελ. 5, αρ. 7 και κεφ. 3 εδώ."),
        ("de", "Ca. Mitte Mai kommt lt. Gesetz Müller et al. Recht zu."),
        ("en", "Gen. Lee met Sen. Cruz, Col. Mustard and Rep. Jo on Oct. 5 at Mt. Fuji, says Lee et al. 2010 here."),
        ("en", "The Bldg. 5 is where Assoc. Prof. Lee works."),
        ("en", "Brig. Gen. Lee, Atty. Gen. Barr and Drs. Wm. May and Jos. Chu met in Ft. Worth."),
        ("en", "On Tues. Jan. 5 a Calif. Senator of 6 ft. 2 came to Apt. 4 in Tampa, Fla. - and left."),
        ("es", "Vive en la Avda. Mayor hoy."),
        ("es", "Vino P. ej. Ana."),
        ("fi", "Esim. Helsinki on suuri, ks. Turku."),
        ("hi", "डॉ. सिंह आए।"),
        ("hi", "एम. एस. धोनी आए।"),
        ("hr", "Npr. Zagreb je velik."),
        ("hu", "Vö. Kiss könyve."),
        ("hu", "Sok dolog, pl. Pest szép, Özv. Kiss is."),
        ("id", "Harganya Rp. 3.500 saja."),
        ("id", "Rumah Bpk. Joko di Jl. Sudirman, Kec. Beji, hlm. 5 besar."),
        ("ko", "날짜는 2024. 12. 31. 이다."),
        ("nb", "Det er f.eks. Oslo som er stor, ca. Halvparten, tlf. 12 her."),
        ("no", "Det er f.eks. Oslo som er stor, ca. Halvparten, tlf. 12 her."),
        ("pl", "Prof. dr hab. Jan i ok. 20 tys. Polaków przyszli."),
        ("pt", "Veja núm. 7 aqui."),
        ("ro", "Dl. Pop și Dna. Ion stau pe str. Sf. Maria, vezi pag. 3 aici."),
        ("ru", "Тов. Петров живёт у св. Анны."),
        ("sk", "Napr. Nitra je tu."),
        ("sr", "Др. Петровић је рођен 13. Маја."),
        ("sr", "То је ул. Светог Саве."),
        ("sr-Latn", "To je ul. Svetog Save, npr. Beograd."),
        ("sv", "Det är t.ex. Lund, dvs. Skåne, som är litet."),
        ("ta", "திரு. ராமன் வந்தார்."),
        ("tr", "Bu 19. Yüzyıl'da oldu."),
        ("tr", "Doç. Dr. Ali ve Hz. Ali geldi."),
        ("uk", "Це напр. Львів."),
        ("be", "Гэта вул. Якуба Коласа."),
        ("bs", "Npr. Tuzla je velika."),
        ("ca", "Mireu la pàg. 5, i la Dra. Puig ve."),
        ("et", "Linnad, nt. Tartu, vt. Lisa."),
        ("fr", "Voir Mgr. Dupont, boul. Voltaire, éd. Gallimard."),
        ("gl", "Ver páx. 5, e a Dra. Castro vén."),
        ("gu", "ડૉ. પટેલ આવ્યા."),
        ("it", "Il Sig. Rossi e l'Ing. Bianchi vanno."),
        ("kn", "ಡಾ. ರಾವ್ ಬಂದರು."),
        ("lt", "Pvz. Vilnius yra didelis, žr. Kaunas."),
        ("ml", "ഡോ. നായർ വന്നു."),
        ("mr", "डॉ. जोशी आले."),
        ("ne", "डा. शर्मा आए।"),
        ("nl", "Dhr. Jansen en Mw. Vries wonen bijv. Leiden in."),
        ("sl", "Npr. Ljubljana je velika."),
        ("te", "డా. రావు వచ్చారు."),
        ("vi", "Tôi gặp PGS. TS. Nguyễn hôm nay."),
    ],
)
def test_no_sentence_ends_with_an_abbreviation_of_its_language(lang: str, text: str) -> None:
    both = f"{text} {text}"
    assert [both[start:end].strip() for start, end in sentences(both, lang)] == [text, text]


def test_a_full_stop_behind_a_thai_letter_ends_no_sentence() -> None:
    text = "พ.ศ. 2567 ดร. สมชาย มาแล้ว"
    assert [text[start:end] for start, end in sentences(text, "th")] == [text]
