"""scikit-learn's own checks, and estimators that do in a pipeline what the encoder does by itself."""

from __future__ import annotations

import copy
import gc
import pickle
import random
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from toy_labels import WORDS, label_of, write_labelled
from yiwen.bundle import open_bundle
from yiwen.encoder import Encoder
from yiwen.encoder.exporting import export_encoder
from yiwen.errors import ConfigError, DataError
from yiwen.text.chinese import rewritten

sklearn = pytest.importorskip("sklearn")

from sklearn.base import clone  # noqa: E402
from sklearn.exceptions import NotFittedError, SkipTestWarning  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.utils import estimator_checks as checks  # noqa: E402

from yiwen import runs  # noqa: E402
from yiwen.encoder.estimators import EncoderClassifier, EncoderFeatures, _held_out  # noqa: E402

WITHOUT_TEXT = [
    checks.check_estimator_cloneable,
    checks.check_estimator_tags_renamed,
    checks.check_valid_tag_types,
    checks.check_estimator_repr,
    checks.check_no_attributes_set_in_init,
    checks.check_parameters_default_constructible,
    checks.check_get_params_invariance,
    checks.check_set_params,
]
"""All that call no `fit`: scikit-learn's others fit tables of numbers."""


@pytest.mark.parametrize("estimator", [EncoderFeatures(), EncoderClassifier()], ids=["features", "classifier"])
def test_scikit_learns_own_checks_pass(estimator: Any) -> None:
    with pytest.warns(SkipTestWarning, match="requires input"):
        checks.check_estimator(estimator)
    for check in WITHOUT_TEXT:
        check(type(estimator).__name__, estimator)
    tags = sklearn.utils.get_tags(estimator)
    assert (tags.input_tags.string, tags.input_tags.two_d_array) == (True, False)


def some(n: int, *, seed: int) -> tuple[list[str], list[str]]:
    rng = random.Random(seed)
    rows = [[rng.choice(WORDS) for _ in range(rng.randint(2, 6))] for _ in range(n)]
    return [" ".join(words) for words in rows], [label_of(words) for words in rows]


def test_features_stand_in_a_pipeline(tiny_classifier: Path) -> None:
    texts, labels = some(97, seed=1)
    pipeline = make_pipeline(EncoderFeatures(tiny_classifier), LogisticRegression(max_iter=500)).fit(texts, labels)
    more, right = some(61, seed=2)
    assert pipeline.score(more, right) > 0.85
    features = clone(pipeline[0]).set_params(layer=1, pooling="max", normalised=True).fit(np.array(more))
    found = features.transform(np.array(more))
    wanted = Encoder.load(tiny_classifier).features(more, layer=1, pooling="max", normalised=True)
    assert np.array_equal(found, wanted)
    assert features.get_feature_names_out()[[0, 31]].tolist() == ["encoder0", "encoder31"]
    again = pickle.loads(pickle.dumps(features))  # noqa: S301  ours, a moment ago
    assert np.array_equal(again.transform(more), found)


def test_a_classifier_is_trained_on_texts_and_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    recipe = write_labelled(tmp_path, "classify", max_steps=100)
    texts, labels = some(400, seed=1)
    numbers = np.array([{"b": 7, "d": -3, "equal": 2}[label] for label in labels])
    classifier = EncoderClassifier(str(recipe), settings=["data.valid_pairs=30"], folder="kept")
    classifier.fit(texts, numbers)
    more, right = some(61, seed=2)
    assert classifier.classes_.tolist() == [-3, 2, 7]
    probabilities = classifier.predict_proba(more)
    assert np.allclose(probabilities.sum(axis=1), 1, atol=1e-5)
    assert classifier.predict(more).tolist() == classifier.classes_[probabilities.argmax(axis=1)].tolist()
    assert classifier.score(more, [{"b": 7, "d": -3, "equal": 2}[label] for label in right]) > 0.8
    again = pickle.loads(pickle.dumps(classifier))  # noqa: S301
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")  # a relative folder stays where it was at the fit
    assert np.array_equal(again.predict_proba(more), probabilities)
    assert not (tmp_path / "runs").exists()
    other = clone(classifier).set_params(settings="training.max_steps=1")
    with pytest.raises(DataError, match="9 texts are too few to hold a tenth of them out; give 10 or more"):
        other.fit(texts[:9], numbers[:9])
    with pytest.raises(NotFittedError):
        other.predict(more)
    assert other.fit(texts, numbers).model_ != classifier.model_


@pytest.mark.parametrize(
    ("classes", "names"),
    [
        (["very good", "不好"], ("very good", "不好")),
        ([10, 9], ("10", "9")),  # in the model by text, in `classes_` by value
        ([True, False], ("False", "True")),
        (["a b", "a\tb"], ("000000", "000001")),  # alike once they are normalised
        (["", "a"], ("000000", "000001")),
    ],
)
def test_a_model_names_labels_as_they_were_given(tmp_path: Path, classes: list[Any], names: tuple[str, ...]) -> None:
    texts, labels = some(200, seed=1)
    classifier = fitted(tmp_path, texts, [classes[label == "b"] for label in labels])
    encoder = Encoder.load(classifier.model_)
    assert encoder.labels == names
    probabilities = classifier.predict_proba(texts[:61])
    assert np.array_equal(probabilities, encoder.probabilities(texts[:61])[:, :: -1 if classes == [10, 9] else 1])
    assert len({*classifier.predict(texts[:61]).tolist()}) == 2
    if names[0] != "000000":
        found = [str(prediction) for prediction in encoder.classify(texts[:61])]
        assert found == [str(label) for label in classifier.predict(texts[:61]).tolist()]


def test_a_classifier_pickled_when_models_held_numbers_is_still_read(tmp_path: Path) -> None:
    texts, _ = some(60, seed=1)
    classifier = fitted(tmp_path, texts, ["", "a"] * 30)
    before = classifier.predict_proba(texts)
    classifier.classes_ = np.array(["good", "bad"])
    assert np.array_equal(classifier.predict_proba(texts), before)


def test_what_is_no_text_is_refused(tiny_classifier: Path) -> None:
    features = EncoderFeatures(tiny_classifier)
    with pytest.raises(NotFittedError):
        features.transform(["a"])
    for wrong in ([[1.0, 2.0]], "a single text", [None], None, [b"a"]):
        with pytest.raises(ConfigError, match="an encoder takes a list of texts; give a column of strings"):
            features.fit([]).transform(wrong)
    with pytest.raises(ConfigError, match="recipe 'tatoeba-en-zh' has task='translate', and there are 10 texts and 10"):
        EncoderClassifier("tatoeba-en-zh").fit(["a"] * 10, [1] * 10)


def test_without_scikit_learn_the_pip_line_is_named() -> None:
    program = "import sys; sys.modules['sklearn'] = None\nfrom yiwen.encoder import estimators"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert "MissingDependencyError: Estimators need scikit-learn: pip install 'yiwen[sklearn]'" in result.stderr


def test_without_torch_an_exported_model_gives_features_and_training_names_the_pip_line(
    tiny_classifier: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export_encoder(open_bundle(tiny_classifier), dtype="float32", valid=None, output=tmp_path / "lean")
    program = f"""
import sys

class Hide:
    def find_spec(self, name, path=None, target=None):
        if name in ("torch", "pyarrow"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Hide())
from yiwen.encoder.estimators import EncoderClassifier, EncoderFeatures
print(EncoderFeatures({str(tmp_path / "lean")!r}).fit_transform(["ba be", "di"]).shape)
EncoderClassifier().fit([*"abcdefghij"], [1, 2] * 5)
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert result.stdout == "(2, 32)\n", result.stderr
    assert "MissingDependencyError: training needs torch and pyarrow: pip install 'yiwen[train]'" in result.stderr


@pytest.mark.parametrize("folder", ["file", "file/below", 7])
def test_a_folder_that_cannot_be_written_is_refused(
    folder: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    with pytest.raises(
        ConfigError, match=r"folder=file.* is a file or may not be written; give another|folder is a int"
    ):
        EncoderClassifier(folder=folder).fit([*"abcdefghij"], [1, 2] * 5)


def test_fitting_again_opens_the_model_that_is_named_now(tiny_classifier: Path, tiny_embedder: Path) -> None:
    features = EncoderFeatures(tiny_classifier).fit([])
    before = features.transform(["Deti gedi."])
    after = features.set_params(model=tiny_embedder).fit([]).transform(["Deti gedi."])
    assert before.shape != after.shape or not np.allclose(before, after)
    with pytest.raises(ConfigError, match="an encoder takes a list of texts"):
        features.transform({"text": ["a", "b"]})
    column = type("Column", (list,), {"keys": lambda self: range(1)})(["Deti gedi."])  # as one of a data frame has
    assert np.allclose(features.transform(column), after)


def test_layers_that_are_not_exported_are_computed_by_torch(
    tiny_classifier: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("YIWEN_RUNS", str(tiny_classifier.parent))
    shutil.copytree(tiny_classifier / "best", tmp_path / "bundle")
    export_encoder(open_bundle(tmp_path / "bundle"), dtype="float32", valid=None)
    texts, trained = ["ba be bi", "da de di ka"], Encoder.load(tmp_path / "bundle", engine="torch")
    features = EncoderFeatures(tmp_path / "bundle", layer=1).fit(texts)
    assert np.array_equal(features.transform(texts), trained.features(texts, layer=1))
    features = EncoderFeatures(tmp_path / "bundle").fit(texts)
    assert features._encoder["auto"].engine.description.startswith("CTranslate2")
    assert np.array_equal(features.set_params(layer=0).transform(texts), trained.features(texts, layer=0))
    (tmp_path / "bundle" / "model.safetensors").unlink()
    last = EncoderFeatures(tmp_path / "bundle", layer=trained.n_layers).fit(texts)  # needs no weights
    assert np.allclose(last.transform(texts), trained.features(texts), atol=1e-4)


def test_the_only_text_of_a_label_is_never_held_out() -> None:
    labels = np.array([0] * 20 + [1] + [2] * 3)
    for n_texts in (0, 2, 5, 24):
        chosen = np.array(_held_out([str(place) for place in range(24)], labels, n_texts))
        assert chosen.sum() == min(n_texts, 19 + 0 + 2)
        assert set(labels[~chosen]) == {0, 1, 2}


def test_a_label_whose_texts_are_all_alike_is_never_held_out() -> None:
    texts, labels = ["yes", "Yes", "yes ", *map(str, range(7))], np.array([1] * 3 + [0] * 7)
    assert np.flatnonzero(_held_out(texts, labels, 9)).min() >= 3
    assert sum(_held_out(["same"] * 5 + ["other"], np.zeros(6, dtype=int), 9)) == 1  # one stands for its copies


def test_a_text_whose_copies_differ_in_label_is_never_held_out() -> None:
    texts, labels = ["odd", "Odd", "odd ", "a", "b", "c"], np.array([0, 1, 0, 0, 0, 1])
    assert np.flatnonzero(_held_out(texts, labels, 9)).tolist() in ([3], [4])


def test_texts_of_which_none_can_be_held_out_are_refused(tmp_path: Path) -> None:
    for texts, labels, n in ((["The same."] * 20, ["a", "b"] * 10, 1), (list("abcdefghij"), list("abcdefghij"), 10)):
        with pytest.raises(DataError, match=rf"no text can be held out: {n} of {len(texts)} texts differ, a label"):
            fitted(tmp_path, texts, labels)


def fitted(folder: Path, texts: list[str], labels: list[str], *more: str) -> EncoderClassifier:
    """A tiny classifier of texts that say by their form what they are."""
    recipe = write_labelled(folder, "classify", max_steps=60)
    settings = ["data.test_pairs=0", "tokenizer.character_coverage=0.98", *more]
    return EncoderClassifier(str(recipe), settings=settings, folder=folder).fit(texts, labels)


def test_texts_that_cleaning_would_drop_are_learnt(tmp_path: Path) -> None:
    words, _ = some(60, seed=1)
    rates = [f"{i % 5}/5 {i}" for i in range(30)]
    chinese = [f"{'好坏大小'[i % 4]}{'饭菜店家'[i % 3]}" * (1 + i % 5) for i in range(30)]
    classifier = fitted(tmp_path, words + rates + chinese, ["en"] * 60 + ["rate"] * 30 + ["zh"] * 30)
    found = classifier.predict(["ba be bi", "4/5 31", "好菜"])
    assert found.tolist() == ["en", "rate", "zh"]


def test_traditional_texts_are_as_long_as_the_simplified_ones_that_they_are_read_as(tmp_path: Path) -> None:
    texts = [
        f"這間飯店的房間很{'乾淨' if i % 2 else '骯髒'}，服務員{'滿意' if i % 3 else '難過'}，電視{i}臺。"
        for i in range(40)
    ]
    simplified = [rewritten(text, "zh") for text in texts]
    settings = ["tokenizer.vocab_size=320", "data.src_lang=zh", "data.max_tokens=45", "training.max_steps=2"]
    folder = Path(fitted(tmp_path, simplified + texts, ["净", "脏"] * 40, *settings).model_).parents[1]
    kept = [line for name in ("train.jsonl", "valid.jsonl") for line in (folder / name).read_text().splitlines()]
    assert len(kept) == 80


def test_a_fit_that_fails_leaves_the_fit_before_as_it_was(tmp_path: Path) -> None:
    words, _ = some(60, seed=1)
    classifier = fitted(tmp_path, words, ["iyi", "kötü"] * 30)
    before = classifier.predict(words[:7]).tolist()
    with pytest.raises(DataError):
        classifier.fit(["?"] * 20, ["spam", "ham"] * 10)
    assert classifier.predict(words[:7]).tolist() == before


def test_texts_that_are_too_long_are_counted_with_the_labels_that_are_lost(tmp_path: Path) -> None:
    texts, labels = some(100, seed=1)
    texts[::10], labels[5] = [" ".join(texts)] * 10, "empty"
    texts[5] = " "
    message = (
        r"1 \(empty side\), 10 \(too many subwords\) of 100 texts were not trained on, none of label 'empty'; shorten"
    )
    with pytest.warns(UserWarning, match=message):
        classifier = fitted(tmp_path, texts, labels)
    probabilities = classifier.predict_proba(texts)
    lost = classifier.classes_.tolist().index("empty")
    assert (probabilities.max(axis=0) > 0).tolist() == [n != lost for n in range(4)]


@pytest.mark.parametrize(
    "labels",
    [
        [1.0, np.nan] * 5,
        np.array(["a", np.nan] * 5, dtype=object),
        ["a", np.nan] * 5,
        ["a", None] * 5,
        np.ma.array([1, 2] * 5, mask=[0, 1] * 5),
        ["a", ["b", "c"]] * 5,
        ["a", ("b",)] * 5,
        ["a", {"b": 2}] * 5,
    ],
    ids=["numbers", "column of strings", "list", "None", "masked", "a list each", "a tuple each", "a dict each"],
)
def test_what_is_not_one_label_is_refused(labels: Any) -> None:
    with pytest.raises(
        ValueError, match=r"y\[1\] is (nan|None|\[.*\]|\(.*\)|{.*}), which is not a label; give the text one, or leave"
    ):
        EncoderClassifier().fit(["a", "b"] * 5, labels)


@pytest.mark.parametrize("labels", [[1, "a"] * 5, np.array([1, "a"] * 5, dtype=object)], ids=["list", "column"])
def test_labels_that_are_text_and_numbers_are_refused(labels: Any) -> None:
    # NumPy would sort none, or make "1" of 1, which no right label equals
    with pytest.raises(ConfigError, match=r"y\[0\] is 1 and y\[1\] is 'a'; make all labels text, or none"):
        EncoderClassifier().fit(["a", "b"] * 5, labels)


def test_texts_of_one_label_are_refused() -> None:
    with pytest.raises(DataError, match="all labels are 7: there is nothing to tell apart; add texts of another one"):
        EncoderClassifier().fit([*"abcdefghij"], [7] * 10)


def untrained(loaded: Any, *, run: Path, root: Path) -> tuple[Path, None]:
    """In place of `train_recipe`: the text that would be trained on."""
    run.mkdir()
    (root / "train.jsonl").rename(run / "best")
    return run, None


@pytest.mark.parametrize("setting", ["training.init_from=start", "tokenizer.model=start/shared.spm"])
def test_what_to_start_from_lies_beside_the_recipe_as_for_yiwen_train(
    setting: str, tiny_classifier: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "train_recipe", untrained)
    shutil.copytree(tiny_classifier / "best", tmp_path / "start")
    recipe = write_labelled(tmp_path, "classify")
    classifier = EncoderClassifier(str(recipe), settings=[setting], folder=tmp_path / "kept").fit(*some(20, seed=1))
    assert Path(classifier.model_).is_file()


def test_fits_at_the_same_time_train_on_their_own_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = threading.Barrier(2, timeout=60)

    def train(loaded: Any, *, run: Path, root: Path) -> tuple[Path, None]:
        both.wait()  # both have written their texts
        return untrained(loaded, run=run, root=root)

    monkeypatch.setattr(runs, "train_recipe", train)

    def text_of(mark: str) -> str:
        classifier = EncoderClassifier(folder=tmp_path)
        classifier.fit([f"{mark} {i}" for i in range(30)], np.array([["a"], ["b"]] * 15))  # a column of labels
        return Path(classifier.model_).read_text("utf-8")

    with ThreadPoolExecutor(2) as pool:
        one, two = pool.map(text_of, ("one", "two"))
    assert "one 0" in one + two
    assert "two" not in one
    assert "one" not in two


def test_a_model_in_a_temporary_folder_is_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "train_recipe", untrained)
    classifier = EncoderClassifier().fit([*"abcdefghij"], [1, 2] * 5)
    assert Path(classifier.model_).is_file()
    for copied in (pickle.dumps, copy.deepcopy):
        with pytest.raises(ConfigError, match="its model lies in a temporary folder and would be lost; give folder="):
            copied(classifier)
    assert not hasattr(clone(classifier), "model_")

    def broken(*_: Any, **__: Any) -> None:
        raise DataError("too little text")

    monkeypatch.setattr(runs, "train_recipe", broken)
    with pytest.raises(DataError):
        classifier.fit([*"abcdefghij"], [1, 2] * 5)
    assert Path(classifier.model_).is_file()  # the earlier model is still its own


def test_a_temporary_folder_goes_with_the_next_fit_or_the_estimator_without_a_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runs, "train_recipe", untrained)
    classifier = EncoderClassifier().fit([*"abcdefghij"], [1, 2] * 5)
    first = Path(classifier.model_)
    second = Path(classifier.fit([*"abcdefghij"], [1, 2] * 5).model_)
    assert [first.exists(), second.exists()] == [False, True]
    del classifier
    gc.collect()  # where Python says that nobody removed it, pytest makes an error of that
    assert not second.exists()
