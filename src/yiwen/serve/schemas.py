"""What our own API takes and gives."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Offsets = Annotated[tuple[int, int], Field(description="Start and end, in characters.")]


class Strict(BaseModel):
    """A request in which a field that is not known is a mistake."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Term(Strict):
    """How one expression is to be translated."""

    source: str = Field(min_length=1, max_length=200)
    target: str = Field(max_length=200, description="Empty, or equal to the source: it stays as it is.")


class TranslateRequest(Strict):
    """One text or several, and how they are to be translated."""

    text: str | list[str]
    source: str = Field("auto", max_length=35, description="A code of /v1/languages, or `auto`.")
    target: str = Field(max_length=35, description="A code of /v1/languages.")
    beam_size: int | None = Field(None, ge=1, description="Hypotheses kept; the model's own setting if not given.")
    alternatives: int = Field(1, ge=1, description="Translations of each text.")
    prefix: str | list[str] | None = Field(None, description="What the translation has to start with; one a text.")
    alignment: bool = Field(False, description="Which words go with which.")
    glossary: list[Term] = Field(default=[], max_length=200)
    stream: bool = Field(False, description="One text, sentence by sentence, a JSON object a line.")


class AlternativeText(BaseModel):
    """One more translation."""

    text: str
    score: float | None


class Sentence(BaseModel):
    """A piece that was translated in one go, in both texts."""

    source: Offsets
    target: Offsets


class Links(BaseModel):
    """Words of both texts, and how strongly they go together."""

    source: list[Offsets]
    target: list[Offsets]
    links: list[tuple[int, int, float]] = Field(description="Word of the source, word of the target, weight.")


class TranslatedText(BaseModel):
    """A translation and what there is to know about it."""

    text: str
    source: str
    target: str
    score: float | None = Field(description="Mean log-probability of a subword; null where it is not known.")
    confidence: float | None = Field(description="Probability that the translation is good; null without calibration.")
    flags: list[str]
    alternatives: list[AlternativeText]
    sentences: list[Sentence]
    alignment: Links | None


class TranslateAnswer(BaseModel):
    """The translations, in the order of the texts."""

    translations: list[TranslatedText]
    model: str = Field(description="The pairs that were passed, e.g. `en-zh`.")
    took_ms: float


class Language(BaseModel):
    """A language that can be translated from."""

    code: str
    name: str
    native: str
    targets: list[str]


class DetectRequest(Strict):
    """A text of unknown language."""

    text: str


class Detection(BaseModel):
    """A language and how sure we are."""

    language: str
    confidence: float


class Problem(BaseModel):
    """Why there is no answer, and what to do about it."""

    error: str
    code: str
