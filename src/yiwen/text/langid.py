"""Which language a text is in: by its script where that tells, else by py3langid's model (Lui and Baldwin 2012).

The model takes half a second to load, so it is loaded when the first text needs it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from yiwen.once import once
from yiwen.text.chinese import is_traditional
from yiwen.text.languages import base, canonical, table
from yiwen.text.protect import masked
from yiwen.text.scripts import LETTER, SCRIPTS, script_of, script_share

_ENOUGH: Final = 30
"""Letters that the model needs to tell languages of one script apart for certain."""
_CERTAIN: Final = 0.99
_OWN: Final = table()["own"]
"""Of scripts sharing characters with Chinese: the letters that Chinese has not, and how many of them a text must have
for every other letter, and every Latin one, to be more than Chinese that quotes a word."""
_COMMON: Final = {code: frozenset(words.split()) for code, words in table()["common"].items()}
"""Words that are common in a language."""
_NAMES: Final = {"nb": "no", "fil": "tl"}
"""What the model calls languages of ours."""


class Detected(NamedTuple):
    """A language and how sure that is."""

    language: str
    """Canonical code; `und` where the text does not tell."""
    confidence: float
    """0 to 1."""


def detect(text: str, among: Sequence[str] = ()) -> Detected:
    """The language of a text.

    Args:
        text: Any text; addresses and code in it are not looked at.
        among: Languages to choose from; empty for all that are known.

    >>> detect("這是一本書。").language, detect("これは本です。", ("zh", "ja")).language, detect("42").language
    ('zh-Hant', 'ja', 'und')
    """
    prose, _ = masked(text)
    if not LETTER.search(prose):
        return Detected("und", 0.0)
    own = next((name for name in _OWN if _is_own(prose, name)), None)
    script = own or max((name for name in SCRIPTS if name not in _OWN), key=lambda name: script_share(prose, name))
    share = script_share(prose, script)
    wanted = {base(code) for code in among} or {*_identifier().labels, *SCRIPTS[script][1].split()}
    scripts = (script, None) if share else (None,) if among else ()  # letters of no script that we know tell little
    possible = {code for code in wanted if script_of(code) in scripts or (script, code) == ("Han", "ja")}
    if script == "Han" and "zh" in possible:
        return Detected("zh-Hant" if is_traditional(prose) else "zh-Hans", share)
    if len(possible) < 2:
        return Detected(_code(next(iter(possible)), script, among), share) if possible else Detected("und", 0.0)
    ours = {_NAMES.get(language, language): language for language in sorted(possible)}
    ranked = [(ours[language], p) for language, p in _identifier().rank(prose) if language in ours]
    best, p = ranked[0] if ranked else ("und", 0.0)
    return Detected(_code(best, script, among), share * p / (sum(p for _, p in ranked) or 1.0))


def is_in(prose: str, wanted: str, *, rather_than: str) -> bool:
    """True for a text that is certainly in one language and not in another: never for a short or a doubtful one.

    Where the scripts differ they decide: a Chinese text may name things in Latin letters, an English one not in
    Chinese. Where they are the same, thirty letters are needed. Addresses and code are not to be in the text.

    >>> is_in("我喜欢 Python。", "zh", rather_than="en"), is_in("Python", "de", rather_than="en")
    (True, False)
    """
    here, there = script_of(wanted), script_of(rather_than)
    if here is None or there is None or base(wanted) == base(rather_than) or not LETTER.search(prose):
        return False
    if here != there:
        if {here, there} <= {"Han", *_OWN}:
            return _is_own(prose, here) and not _is_own(prose, there)
        return script_share(prose, here) >= (1.0 if here == "Latin" else 0.7)
    words = set(prose.lower().split())
    one, other = (words & _COMMON.get(base(code), frozenset()) for code in (rather_than, wanted))
    if len(one - other) > len(other - one) or len(LETTER.findall(prose)) < _ENOUGH:
        return False
    ranked: list[tuple[str, float]] = _identifier().rank(prose)
    ours, theirs = (_NAMES.get(base(code), base(code)) for code in (wanted, rather_than))
    (best, p), rival = ranked[0], dict(ranked).get(theirs)
    return best == ours and rival is not None and p > _CERTAIN * (p + rival)


def _code(language: str, script: str, among: Sequence[str]) -> str:
    """The code of a language, as it is asked for: sr-Latn of Serbian in Latin letters, where there are both."""
    alike = [canonical(code) for code in among if base(code) == language]
    return max(alike, key=lambda code: (code[-4:-1] == script[:3], "-" not in code), default=canonical(language))


def _is_own(prose: str, script: str) -> bool:
    """True where a text holds more letters of such a script than a Chinese text that quotes a word of it."""
    letters, per_other, per_latin = _OWN.get(script, ("(?!)", 0, 0))  # other scripts share no characters
    n, n_latin, n_all = (len(re.findall(each, prose)) for each in (letters, "[A-Za-z]", LETTER.pattern))
    return bool(n > per_other * (n_all - n - n_latin) + per_latin * n_latin)


@once
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
