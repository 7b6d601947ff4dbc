"""Language codes (BCP 47): many spellings of a language in, one code out; and what languages are called.

Codes are told apart as far as translating needs it: `en-US` and `en` are one, Simplified and Traditional Chinese
(`zh-Hans`, `zh-Hant`) two, also where only a region says which. Aliases and likely scripts are CLDR's (langcodes).
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final

from yiwen.errors import ConfigError, expect

CHINESE: Final = frozenset(("zh", "yue", "lzh", "wuu", "nan", "hak", "gan"))
UNSPACED: Final = CHINESE | {"ja", "th", "lo", "km", "my", "bo", "dz"}
"""Languages that put no blank between words."""
RUN_ON: Final = CHINESE | {"ja"}
"""Those that put none between sentences either."""


@lru_cache(1024)  # callers of a service send what they like
def canonical(code: str) -> str:
    """One code for all spellings of a language: codes, old and three-letter ones, its English or its own name.

    >>> [canonical(code) for code in ("zh_CN", "zh-TW", "cmn", "chinese", "en-US", "deu", "sr-Latn")]
    ['zh-Hans', 'zh-Hant', 'zh-Hans', 'zh-Hans', 'en', 'de', 'sr-Latn']

    Raises:
        ConfigError: If it is no code and no name.
    """
    usual = spelt(code)
    if usual in table()["names"]:  # nearly always, and to load langcodes takes 7 % of the time to a first translation
        return "zh-Hans" if usual == "zh" else usual
    import langcodes

    try:
        tag = langcodes.get(usual).prefer_macrolanguage()  # arb is ar, cmn zh
    except langcodes.tag_parser.LanguageTagError as error:
        raise ConfigError(f"{code!r} is not a language; use a code such as en, de, zh-Hans or zh-Hant") from error
    language = tag.language or "und"
    script = tag.script or tag.maximize().script
    is_usual = script == langcodes.get(language).maximize().script
    return language if is_usual and language != "zh" else f"{language}-{script}"


@lru_cache(1024)
def base(code: str) -> str:
    """The language without its script: `zh` for all kinds of written Chinese. Asks for no rule to be kept.

    >>> base("zh_TW"), base("de-AT"), base("Quenya-x")
    ('zh', 'de', 'quenya')
    """
    return meant(code).split("-")[0]


def best_match(codes: Sequence[str], wanted: str) -> int | None:
    """The place of the code that means a language: as it is written, else another spelling or region; None: no place.

    Norwegian as such is Bokmål where nothing says that closer.

    >>> best_match(["pt-PT", "pt_BR", "en"], "pt-BR"), best_match(["zh-TW", "cmn"], "zh"), best_match(["zh-TW"], "zh")
    (1, 1, None)
    >>> best_match(["no", "nb_NO"], "nb"), best_match(["nn", "no-NO"], "nb"), best_match(["nb"], "no")
    (1, 1, 0)
    """
    for read in (lambda code: spelt(code).lower(), meant, lambda code: {"no": "nb"}.get(meant(code), meant(code))):
        found = [read(code) for code in codes]
        if read(wanted) in found:
            return found.index(read(wanted))
    return None


def spelt(code: str) -> str:
    """A code as documents name a language, its region kept: no name, no underscore.

    >>> spelt("zh_TW"), spelt("German"), spelt("pt-BR")
    ('zh-TW', 'de', 'pt-BR')
    """
    code = expect(code, str, "a language", "its code, such as en, de, zh-Hans or zh-Hant").strip().replace("_", "-")
    return _by_name().get(code.casefold(), code)


def meant(code: str) -> str:
    """`canonical` without an error: of a code that breaks its rules, the first part."""
    try:
        return canonical(code)
    except ConfigError:  # what a file calls a language may be nonsense
        return spelt(code).lower().split("-")[0]


def name_of(code: str) -> tuple[str, str]:
    """The name in English and in the language itself; the code where we know no name.

    >>> name_of("zh-TW")
    ('Chinese (Traditional)', '繁體中文')
    """
    code, names = canonical(code), table()["names"]
    english, native = names.get(code) or names.get(base(code)) or (code, code)
    return english, native


@cache
def table() -> dict[str, dict[str, Any]]:
    """What `languages.toml` says of languages."""
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


@cache
def _by_name() -> dict[str, str]:
    """What people write where a code is asked for. Norwegian for one is `no` and no other of its kinds."""
    return {name.casefold(): code for code, pair in table()["names"].items() for name in pair} | table()["also"]
