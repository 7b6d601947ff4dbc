"""Encoders in scikit-learn's pipelines: a transformer that gives features, and a classifier that trains one.

>>> pipeline = make_pipeline(EncoderFeatures("runs/multi30k-en-de"), LogisticRegression())  # doctest: +SKIP
>>> pipeline.fit(texts, labels).score(more_texts, more_labels)  # doctest: +SKIP
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import Any, Self, cast

import numpy as np

from yiwen.data.corpus import CorpusConfig
from yiwen.encoder.facade import Encoder
from yiwen.errors import ConfigError, DataError, needing
from yiwen.recipe import load_recipe
from yiwen.runs import train_recipe
from yiwen.text.normalise import as_texts, normalise

with needing("Estimators need scikit-learn", extra="sklearn"):
    from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
    from sklearn.utils.validation import check_is_fitted, column_or_1d


class EncoderFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]
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
        """
        self.__dict__.pop("_encoder", None)  # `model` may be another one by now
        self.n_features_out_ = self._features([]).shape[1]
        return self

    def transform(self, X: Sequence[str]) -> Any:
        """One vector a text, (N, D), float32."""
        check_is_fitted(self)
        return self._features(X)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """encoder0, encoder1 ..."""
        check_is_fitted(self)
        return np.array([f"encoder{i}" for i in range(self.n_features_out_)], dtype=object)

    def _features(self, texts: Sequence[str]) -> Any:
        encoder = _opened(self, self.model)
        return encoder.features(texts, layer=self.layer, pooling=self.pooling, normalised=self.normalised)

    def __sklearn_tags__(self) -> Any:
        return _for_text(super().__sklearn_tags__())

    def __getstate__(self) -> Any:
        return _plain(super().__getstate__())


class EncoderClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Trains an encoder on texts and labels as `yiwen train` does, a tenth of them held out to find the best model."""

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
            ConfigError: If the recipe is of another task, or texts and labels differ in number.
            DataError: If there is too little text.
        """
        texts = as_texts(X, "an encoder")
        if len(texts) < 10:
            raise DataError(f"{len(texts)} texts are too few to hold a tenth of them out; give 10 or more")
        self.classes_, numbers = np.unique(column_or_1d(y), return_inverse=True)
        loaded = load_recipe(self.recipe, [self.settings] if isinstance(self.settings, str) else list(self.settings))
        if loaded.recipe.task != "classify" or len(texts) != len(numbers):
            raise ConfigError(
                f"recipe {self.recipe!r} has task={loaded.recipe.task!r}, and there are {len(texts)} texts and "
                f"{len(numbers)} labels; give a recipe of the task 'classify' and one label a text"
            )
        temporary = TemporaryDirectory() if self.folder is None else None
        folder = Path(self.folder or temporary.name) / f"fit-{token_hex(6)}"  # type: ignore[union-attr]
        folder.mkdir(parents=True)
        rows = [{"src": text, "tgt": f"{n:06}"} for text, n in zip(texts, numbers.tolist(), strict=True)]
        is_valid = _held_out(texts, numbers, min(loaded.recipe.data.valid_pairs, len(rows) // 10))
        corpora = [CorpusConfig(path=f"{name}.jsonl") for name in ("train", "valid")]
        for corpus, chosen in zip(corpora, (False, True), strict=True):
            kept = (row for row, is_it in zip(rows, is_valid, strict=True) if is_it == chosen)
            (folder / corpus.path).write_text("".join(f"{json.dumps(row)}\n" for row in kept), encoding="utf-8")
        valid = corpora[1] if any(is_valid) else None
        data = dataclasses.replace(
            loaded.recipe.data, corpora=(corpora[0],), valid=valid, test=None, more_tests=(), test_pairs=0
        )
        recipe = dataclasses.replace(loaded.recipe, data=data)
        run, _ = train_recipe(dataclasses.replace(loaded, recipe=recipe, base=folder), run=folder / "run", root=folder)
        self.model_, self._kept = str(run / "best"), temporary
        self.__dict__.pop("_encoder", None)
        return self

    def predict_proba(self, X: Sequence[str]) -> Any:
        """Probability of each of `classes_`, (N, K); 0 for a class that nothing was learnt of."""
        check_is_fitted(self)
        encoder = _opened(self, self.model_)
        found = encoder.probabilities(X)
        probabilities = np.zeros((len(found), len(self.classes_)), dtype=found.dtype)
        probabilities[:, [int(label) for label in encoder.labels]] = found
        return probabilities

    def predict(self, X: Sequence[str]) -> Any:
        """The likeliest class of each text."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def __sklearn_tags__(self) -> Any:
        return _for_text(super().__sklearn_tags__())

    def __getstate__(self) -> Any:
        if self.__dict__.get("_kept") is not None:
            raise ConfigError("its model lies in a temporary folder and would be lost; give folder=...")
        return _plain(super().__getstate__())


def _opened(estimator: Any, model: str | Path) -> Encoder:
    """Its encoder, opened once."""
    if "_encoder" not in estimator.__dict__:
        estimator._encoder = Encoder.load(model)
    return cast("Encoder", estimator._encoder)


def _held_out(texts: Sequence[str], labels: Any, n_texts: int) -> list[bool]:
    """Which texts to validate with: the same at every call, and never the last one of a label.

    Of equal texts one counts: preparation takes those like a held-out text from the training text.
    """
    places = {*{normalise(text).casefold(): place for place, text in enumerate(texts)}.values()}
    left, chosen = np.bincount(labels[[*places]]), [False] * len(labels)
    for place in np.random.default_rng(1).permutation(len(labels)).tolist():
        if n_texts > 0 and place in places and left[labels[place]] > 1:
            chosen[place] = True
            left[labels[place]] -= 1
            n_texts -= 1
    return chosen


def _plain(state: dict[str, Any]) -> dict[str, Any]:
    """What can be pickled: models are read from their folders again."""
    return {name: value for name, value in state.items() if name not in ("_encoder", "_kept")}


def _for_text(tags: Any) -> Any:
    tags.input_tags.string, tags.input_tags.two_d_array, tags.input_tags.one_d_array = True, False, True
    return tags
