"""Language codes (BCP 47): many spellings of a language in, one code out; and what languages are called.

Codes are told apart as far as translating needs it: `en-US` and `en` are one, Simplified and Traditional Chinese
(`zh-Hans`, `zh-Hant`) two, also where only a region says which. Aliases and likely scripts are CLDR's (langcodes).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final

from yiwen.errors import ConfigError

CHINESE: Final = frozenset(("zh", "yue", "lzh", "wuu", "nan", "hak", "gan"))
UNSPACED: Final = CHINESE | {"ja", "th", "lo", "km", "my", "bo", "dz"}
"""Languages that put no blank between words."""

_NAMES: Final = """
af Afrikaans Afrikaans|ar Arabic العربية|az Azerbaijani Azərbaycanca|be Belarusian Беларуская|bg Bulgarian Български
bn Bengali বাংলা|bs Bosnian Bosanski|ca Catalan Català|cs Czech Čeština|cy Welsh Cymraeg|da Danish Dansk
de German Deutsch|el Greek Ελληνικά|en English English|eo Esperanto Esperanto|es Spanish Español|et Estonian Eesti
eu Basque Euskara|fa Persian فارسی|fi Finnish Suomi|fr French Français|ga Irish Gaeilge|gl Galician Galego
gu Gujarati ગુજરાતી|ha Hausa Hausa|he Hebrew עברית|hi Hindi हिन्दी|hr Croatian Hrvatski|hu Hungarian Magyar
hy Armenian Հայերեն|id Indonesian Indonesia|ig Igbo Igbo|is Icelandic Íslenska|it Italian Italiano|ja Japanese 日本語
ka Georgian ქართული|kk Kazakh Қазақша|km Khmer ខ្មែរ|kn Kannada ಕನ್ನಡ|ko Korean 한국어|ky Kyrgyz Кыргызча|la Latin Latina
lo Lao ລາວ|lt Lithuanian Lietuvių|lv Latvian Latviešu|lzh Classical_Chinese 文言|mk Macedonian Македонски
ml Malayalam മലയാളം|mn Mongolian Монгол|mr Marathi मराठी|ms Malay Melayu|mt Maltese Malti|my Burmese မြန်မာ
nb Norwegian_Bokmål Norsk_bokmål|ne Nepali नेपाली|nl Dutch Nederlands|nn Norwegian_Nynorsk Norsk_nynorsk
no Norwegian Norsk|pa Punjabi ਪੰਜਾਬੀ|pl Polish Polski|pt Portuguese Português|ro Romanian Română|ru Russian Русский
si Sinhala සිංහල|sk Slovak Slovenčina|sl Slovenian Slovenščina|so Somali Soomaali|sq Albanian Shqip|sr Serbian Српски
sv Swedish Svenska|sw Swahili Kiswahili|ta Tamil தமிழ்|te Telugu తెలుగు|th Thai ไทย|fil Filipino Filipino
tr Turkish Türkçe
uk Ukrainian Українська|ur Urdu اردو|uz Uzbek Oʻzbekcha|vi Vietnamese Tiếng_Việt|xh Xhosa isiXhosa|yo Yoruba Yorùbá
yue Cantonese 粵語|zh Chinese 中文|zh-Hans Chinese_(Simplified) 简体中文|zh-Hant Chinese_(Traditional) 繁體中文
zu Zulu isiZulu
"""


@cache
def canonical(code: str) -> str:
    """One code for all spellings of a language: codes, old and three-letter ones, its English or its own name.

    >>> [canonical(code) for code in ("zh_CN", "zh-TW", "cmn", "chinese", "en-US", "deu", "sr-Latn")]
    ['zh-Hans', 'zh-Hant', 'zh-Hans', 'zh-Hans', 'en', 'de', 'sr-Latn']

    Raises:
        ConfigError: If it is no code and no name.
    """
    import langcodes

    code = code.strip()
    try:
        tag = langcodes.get(_by_name().get(code.casefold(), code))
    except ValueError as error:
        raise ConfigError(f"{code!r} is no language; use a language code such as en, de, zh-Hans or zh-Hant") from error
    language = {"cmn": "zh"}.get(tag.language or "", tag.language or "und")
    script = tag.script or tag.maximize().script
    is_usual = script == langcodes.get(language).maximize().script
    return language if is_usual and language != "zh" else f"{language}-{script}"


@cache
def base(code: str) -> str:
    """The language without its script: `zh` for all kinds of written Chinese. Asks for no rule to be kept.

    >>> base("zh_TW"), base("de-AT"), base("Quenya-x")
    ('zh', 'de', 'quenya')
    """
    return _meant(code).split("-")[0]


def best_match(codes: Sequence[str], wanted: str) -> int | None:
    """The place of the code that means a language: as it is written, else another spelling or region; None: no place.

    >>> best_match(["pt-PT", "pt_BR", "en"], "pt-BR"), best_match(["zh-TW", "cmn"], "zh"), best_match(["zh-TW"], "zh")
    (1, 1, None)
    """
    for read in (_spelt, _meant):
        found = [read(code) for code in codes]
        if read(wanted) in found:
            return found.index(read(wanted))
    return None


def _spelt(code: str) -> str:
    return code.strip().lower().replace("_", "-")


def _meant(code: str) -> str:
    try:
        return canonical(code)
    except ConfigError:  # what a file calls a language may be nonsense
        return _spelt(code).split("-")[0]


def name_of(code: str) -> tuple[str, str]:
    """The name in English and in the language itself; the code where we know no name.

    >>> name_of("zh-TW")
    ('Chinese (Traditional)', '繁體中文')
    """
    code = canonical(code)
    return _names().get(code) or _names().get(base(code)) or (code, code)


@cache
def _names() -> dict[str, tuple[str, str]]:
    entries = (entry.split() for entry in _NAMES.strip().replace("\n", "|").split("|"))
    return {code: (english.replace("_", " "), native.replace("_", " ")) for code, english, native in entries}


@cache
def _by_name() -> dict[str, str]:
    """What people write where a code is asked for. Norwegian for one is `no` and no other of its kinds."""
    names = {name.casefold(): code for code, pair in _names().items() for name in pair}
    return names | {"chs": "zh-Hans", "cht": "zh-Hant", "mandarin": "zh-Hans"}
