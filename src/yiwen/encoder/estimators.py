"""Encoders in scikit-learn's pipelines: a transformer that gives features, and a classifier that trains one.

>>> pipeline = make_pipeline(EncoderFeatures("runs/multi30k-en-de"), LogisticRegression())  # doctest: +SKIP
>>> pipeline.fit(texts, labels).score(more_texts, more_labels)  # doctest: +SKIP
"""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import compress
from pathlib import Path
from secrets import token_hex
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any, Final, Self, cast
from weakref import finalize

import numpy as np

from yiwen.data.corpus import CorpusConfig
from yiwen.data.report import Dropped
from yiwen.encoder.facade import Encoder
from yiwen.errors import ConfigError, DataError, expect, needing
from yiwen.files import may_write
from yiwen.recipe import LoadedRecipe, load_recipe
from yiwen.text.chinese import rewritten
from yiwen.text.clean import CleaningConfig
from yiwen.text.normalise import as_texts, normalise
from yiwen.text.subword import Subword, TokenizerConfig, subword_paths

with needing("Estimators need scikit-learn", extra="sklearn"):
    from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
    from sklearn.utils.validation import check_is_fitted, column_or_1d


_EVERYTHING: Final = CleaningConfig(max_length=10**9, max_repeats=0, min_letters=0, min_script=0, drop_duplicates=False)
"""What was labelled by hand is not thrown away."""


class _TakesText(BaseEstimator):  # type: ignore[misc]
    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array, tags.input_tags.one_d_array = True, False, True
        return tags

    def __getstate__(self) -> Any:
        """What can be pickled: models are read from their folders again."""
        if self.__dict__.get("_kept") is not None:
            raise ConfigError("its model lies in a temporary folder and would be lost; give folder=...")
        return {name: value for name, value in super().__getstate__().items() if name not in ("_encoder", "_kept")}


class EncoderFeatures(TransformerMixin, _TakesText):  # type: ignore[misc]
    """Texts to vectors with the encoder of any model; nothing is learnt."""

    def __init__(
        self, model: str | Path = "", *, layer: int = -1, pooling: str | None = None, normalised: bool | None = None
    ) -> None:
        """Arguments as for `Encoder.load` and `Encoder.features`."""
        self.model = model
        self.layer = layer
        self.pooling = pooling
        self.normalised = normalised

    def fit(self, X: Sequence[str], y: Any = None) -> Self:
        """Open the model.

        Raises:
            CheckpointError: If there is none.
            ConfigError: If it has no such layer, or no such pooling.
            MissingDependencyError: If torch is needed and not installed.
        """
        self.__dict__.pop("_encoder", None)  # `model` may be another one by now
        self.n_features_out_ = self._features([]).shape[1]
        return self

    def transform(self, X: Sequence[str]) -> Any:
        """One vector a text, (N, D), float32."""
        check_is_fitted(self)
        return self._features(X)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """encoder0, encoder1 ..."""
        check_is_fitted(self)
        return np.array([f"encoder{i}" for i in range(self.n_features_out_)], dtype=object)

    def _features(self, texts: Sequence[str]) -> Any:
        encoder = _opened(self, self.model)
        return encoder.features(texts, layer=self.layer, pooling=self.pooling, normalised=self.normalised)


class EncoderClassifier(ClassifierMixin, _TakesText):  # type: ignore[misc]
    """Trains an encoder on texts and labels as `yiwen train` does, a tenth of them held out to find the best model.

    All are used but empty texts and those of more than data.max_tokens subwords; the rest of data.cleaning is off.
    """

    def __init__(
        self, recipe: str = "classify-hotel-zh", *, settings: Sequence[str] = (), folder: str | Path | None = None
    ) -> None:
        """What to train and where.

        Args:
            recipe: A recipe of the task classify, by name or path; its text is not used.
            settings: Overrides, such as "data.src_lang=en" or "training.init_from=runs/mlm-reviews-zh".
            folder: Where text and model are kept, below it in a new one at every fit; None: they vanish with the
                estimator, which then cannot be pickled or copied.
        """
        self.recipe = recipe
        self.settings = settings
        self.folder = folder

    def fit(self, X: Sequence[str], y: Any) -> Self:
        """Train.

        Raises:
            ConfigError: If the recipe is of another task, a label is missing, some are text and others are not, texts
                and labels differ in number, or the folder cannot be written.
            DataError: If there is too little text, or one label alone.
            MissingDependencyError: If torch or pyarrow is not installed.

        Warns:
            UserWarning: If texts were not trained on: how many, why, and which labels were lost with them.
        """
        loaded = load_recipe(self.recipe, self.settings)
        texts = [rewritten(normalise(text), loaded.recipe.data.src_lang) for text in as_texts(X, "an encoder")]
        if len(texts) < 10:
            raise DataError(f"{len(texts)} texts are too few to hold a tenth of them out; give 10 or more")
        labels = np.asanyarray(y, dtype=object).ravel().tolist()  # later 1 and NaN may have become "1" and "nan"
        for n, label in enumerate(labels):
            if label is None or isinstance(label, list | tuple | dict) or str(label == label) != "True":  # NaN and NA
                raise ConfigError(f"y[{n}] is {label!r}, which is not a label; give the text one, or leave it out")
            if isinstance(label, str) != isinstance(labels[0], str):
                raise ConfigError(f"y[0] is {labels[0]!r} and y[{n}] is {label!r}; make all labels text, or none")
        classes, numbers = np.unique(column_or_1d(y), return_inverse=True)
        if loaded.recipe.task != "classify" or len(texts) != len(numbers):
            found = f"has task={loaded.recipe.task!r}, and there are {len(texts)} texts and {len(numbers)} labels"
            raise ConfigError(f"recipe {self.recipe!r} {found}; give one of the task 'classify' and one label a text")
        if len(classes) == 1:
            raise DataError(f"all labels are {labels[0]!r}: there is nothing to tell apart; add texts of another one")
        place = mkdtemp() if self.folder is None else expect(self.folder, str | Path, "folder", "a path, or None")
        kept = finalize(self, rmtree, place, ignore_errors=True) if self.folder is None else None
        folder = Path(place).absolute() / f"fit-{token_hex(6)}"
        if not may_write(folder / "train.jsonl"):
            raise ConfigError(f"folder={place} is a file or may not be written; give another, or None")
        folder.mkdir(parents=True)
        run, fits, dropped = _trained(loaded, texts, _names(classes)[numbers], folder)
        if before := self.__dict__.get("_kept"):
            before()
        self.classes_, self.model_, self._kept = classes, str(run / "best"), kept
        self.__dict__.pop("_encoder", None)
        if left_out := ", ".join(f"{drop.count} ({drop.reason})" for drop in dropped):
            lost = ", ".join(map(repr, classes[np.setdiff1d(numbers, numbers[fits])].tolist()))
            message = f"{left_out} of {len(texts)} texts were not trained on{', none of label ' * bool(lost)}{lost}"
            warnings.warn(f"{message}; shorten them or raise data.max_tokens", stacklevel=2)
        return self

    def predict_proba(self, X: Sequence[str]) -> np.ndarray:
        """Probability of each of `classes_`, (N, K); 0 for a class that nothing was learnt of."""
        check_is_fitted(self)
        encoder = _opened(self, self.model_)
        found = encoder.probabilities(X)
        probabilities = np.zeros((len(found), len(self.classes_)), dtype=found.dtype)
        place = {name: n for n, name in enumerate(_names(self.classes_).tolist())}
        # A number where a fit of an earlier version was pickled.
        probabilities[:, [place[label] if label in place else int(label) for label in encoder.labels]] = found
        return probabilities

    def predict(self, X: Sequence[str]) -> Any:
        """The likeliest class of each text."""
        best = self.predict_proba(X).argmax(axis=1)  # first: it says whether there is a model
        return self.classes_[best]


def _names(classes: np.ndarray) -> np.ndarray:
    """What the model calls the classes: what they are as text, or their numbers where normalising would change it."""
    names = [*map(str, classes.tolist())]
    is_kept = "" not in names and [*map(normalise, names)] == names
    return np.array(names if is_kept else [f"{n:06}" for n in range(len(names))])


def _trained(
    loaded: LoadedRecipe, texts: list[str], labels: np.ndarray, folder: Path
) -> tuple[Path, list[bool], Sequence[Dropped]]:
    """Train on texts and their labels.

    Text is prepared twice: only then is it known how many subwords each has, and with that which can be held out.

    Returns:
        The run, which texts are short enough to be learnt, and why others were left out.
    """
    with needing("training needs torch and pyarrow", extra="train"):
        from yiwen.preparing import prepare_recipe
        from yiwen.runs import train_recipe
    given = loaded.recipe
    rows = [json.dumps({"src": text, "tgt": label}) + "\n" for text, label in zip(texts, labels.tolist(), strict=True)]
    n_valid = min(given.data.valid_pairs, len(rows) // 10)
    train, valid = (CorpusConfig(path=str(folder / name)) for name in ("train.jsonl", "valid.jsonl"))
    Path(train.path).write_text("".join(rows), encoding="utf-8")
    data = replace(given.data, corpora=(train,), test=None, more_tests=(), test_pairs=0, cleaning=_EVERYTHING)
    recipe = replace(given, data=replace(data, valid=None, valid_pairs=0))
    prepared = prepare_recipe(replace(loaded, recipe=recipe), stop=None, root=folder)
    fits = [0 < len(ids) < data.max_tokens for ids in Subword.load(subword_paths(prepared.folder)[0]).encode(texts)]
    is_valid = _held_out(list(compress(texts, fits)), labels[fits], n_valid)
    if not any(is_valid):
        differing = f"{len({text.casefold() for text in texts})} of {len(texts)} texts differ"
        why = f"{differing}, a label keeps its last one, and data.valid_pairs is {given.data.valid_pairs}"
        raise DataError(f"no text can be held out: {why}; give more texts a label, or raise data.valid_pairs")
    for corpus, chosen in ((train, False), (valid, True)):
        kept = (row for row, is_it in zip(compress(rows, fits), is_valid, strict=True) if is_it == chosen)
        Path(corpus.path).write_text("".join(kept), encoding="utf-8")
    ready = TokenizerConfig(model=str(prepared.folder.resolve()), sampling=given.tokenizer.sampling)
    tokenizer = given.tokenizer if given.training.init_from else ready
    data = replace(data, valid=valid, valid_pairs=n_valid)
    loaded = replace(loaded, recipe=replace(given, data=data, tokenizer=tokenizer))
    run, _ = train_recipe(loaded, run=folder / "run", root=folder)
    return run, fits, prepared.report.dropped


def _opened(estimator: Any, model: str | Path) -> Encoder:
    """Its encoder, opened once; torch computes what is not of the last layer, which alone is exported."""
    opened = estimator.__dict__.setdefault("_encoder", {})
    for engine in ("auto", "torch"):
        if engine not in opened:
            opened[engine] = Encoder.load(model, engine=engine)
        if getattr(estimator, "layer", -1) in (-1, opened[engine].n_layers):
            break
    return cast("Encoder", opened[engine])


def _held_out(texts: Sequence[str], labels: Any, n_texts: int) -> list[bool]:
    """Which texts to validate with: the same at every call, and never the last one of a label.

    Of equal texts one counts, and none where their labels differ: preparation takes those like a held-out text from the
    training text.
    """
    keys = [normalise(text).casefold() for text in texts]
    last = {key: place for place, key in enumerate(keys)}
    differing = {key for place, key in enumerate(keys) if labels[place] != labels[last[key]]}
    places = {place for key, place in last.items() if key not in differing}
    left = Counter(labels[[*places]].tolist())
    chosen = [False] * len(labels)
    for place in np.random.default_rng(1).permutation(len(labels)).tolist():
        if n_texts > 0 and place in places and left[labels[place]] > 1:
            chosen[place] = True
            left[labels[place]] -= 1
            n_texts -= 1
    return chosen
