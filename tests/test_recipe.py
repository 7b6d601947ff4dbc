"""A recipe is one TOML file that says everything; what is wrong with it is said at once."""

from __future__ import annotations

import dataclasses
import re
import tomllib
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

import yiwen
from tiny_model import write_tiny_recipe
from yiwen.config import attribute_docs, json_schema, parse, to_toml
from yiwen.data.corpus import CorpusConfig
from yiwen.errors import ConfigError
from yiwen.evaluation.metrics import EvaluationConfig
from yiwen.model.config import PRESETS
from yiwen.recipe import Recipe, builtin_names, load_recipe, runs_root
from yiwen.tasks.config import METRICS, Task

RECIPES = Path(yiwen.__file__).parent / "recipes"


def write(folder: Path, text: str) -> str:
    path = folder / "my.toml"
    path.write_text(
        '[data]\nsrc_lang = "en"\ntgt_lang = "zh"\ncorpora = [{ path = "x.tsv" }]\n' + text, encoding="utf-8"
    )
    return str(path)


@pytest.mark.parametrize("name", builtin_names())
def test_every_built_in_recipe_loads(name: str) -> None:
    loaded = load_recipe(name)
    assert loaded.name == name
    assert loaded.base == Path.cwd()  # nobody's text lies in the package
    data = loaded.recipe.data
    pair = "-".join(filter(None, (data.src_lang, data.tgt_lang)))
    assert name.endswith((pair, f"{pair}-quality", f"{pair}-student", f"{pair}-taught"))


def test_built_in_recipes_are_there() -> None:
    assert {"multi30k-en-de", "tatoeba-en-zh", "tatoeba-zh-en"} <= set(builtin_names())


@pytest.mark.parametrize("name", builtin_names())
@pytest.mark.parametrize("with_meaning", [False, True])
def test_a_resolved_recipe_written_out_is_read_back_equal(name: str, with_meaning: bool) -> None:
    recipe = load_recipe(name).recipe
    text = to_toml(recipe, with_meaning=with_meaning)
    assert parse(Recipe, tomllib.loads(text), source="again") == recipe


def test_the_settings_of_the_paper_on_its_page_make_a_recipe(tmp_path: Path) -> None:
    page = (Path(__file__).parents[1] / "docs" / "en" / "paper.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"^```toml\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    recipe = load_recipe(write(tmp_path, text)).recipe
    assert (recipe.model.d_model, recipe.model.d_ff, recipe.model.n_heads, recipe.model.dropout) == (512, 2048, 8, 0.1)
    assert (recipe.model.n_encoder_layers, recipe.model.n_decoder_layers, recipe.model.norm_order) == (6, 6, "post")
    assert (recipe.tokenizer.kind, recipe.tokenizer.vocab_size, recipe.tokenizer.shared) == ("bpe", 37_000, True)  # 5.1
    assert (recipe.training.beta1, recipe.training.beta2, recipe.training.epsilon) == (0.9, 0.98, 1e-9)  # section 5.3
    assert (recipe.search.beam_size, recipe.search.length_penalty) == (4, 0.6)  # section 6.1


def test_ones_own_recipe_is_named_and_placed_by_its_path(tmp_path: Path) -> None:
    loaded = load_recipe(str(write_tiny_recipe(tmp_path)))
    assert (loaded.name, loaded.base) == ("tiny", tmp_path)
    assert loaded.recipe.training.max_steps == 180


def test_an_unknown_name_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_recipe("multi31k")
    assert "'multi31k' is neither a file nor a built-in recipe; built in are " in str(caught.value)
    assert "multi30k-en-de" in str(caught.value)
    with pytest.raises(ConfigError, match=r"none\.toml does not exist"):
        load_recipe(str(tmp_path / "none.toml"))


def test_settings_override_the_file(tmp_path: Path) -> None:
    settings = ["training.max_steps=7", "data.corpora=[{src = 'a', tgt = 'b'}]", "search.sampling=true"]
    recipe = load_recipe(str(write_tiny_recipe(tmp_path)), settings).recipe
    assert recipe.training.max_steps == 7
    assert recipe.data.corpora[0].src == "a"
    assert recipe.search.sampling


def test_a_preset_fills_only_what_is_not_given(tmp_path: Path) -> None:
    recipe = load_recipe(write(tmp_path, '[model]\npreset = "small"\nd_ff = 77\n')).recipe
    assert recipe.model.d_ff == 77
    assert {name: getattr(recipe.model, name) for name in PRESETS["small"] if name != "d_ff"} == {
        name: value for name, value in PRESETS["small"].items() if name != "d_ff"
    }
    assert load_recipe(write(tmp_path, ""), ["model.preset=big"]).recipe.model.dropout == 0.3


def test_another_preset_replaces_what_was_written_out_for_the_old_one(tmp_path: Path) -> None:
    path = write(tmp_path, '[model]\npreset = "base"\nnorm_order = "pre"\nd_ff = 77\n')
    resolved = tmp_path / "resolved.toml"
    resolved.write_text(to_toml(load_recipe(path).recipe), encoding="utf-8")
    for each in (path, str(resolved)):
        recipe = load_recipe(each, "model.preset=small").recipe
        assert (
            recipe == load_recipe(write(tmp_path, '[model]\npreset = "small"\nnorm_order = "pre"\nd_ff = 77\n')).recipe
        )
        assert load_recipe(each, ["model.preset=small", "model.d_model=512"]).recipe.model.d_model == 512


def test_an_unknown_preset_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"model\.preset = .huge.: input should be 'tiny', 'small', 'base', 'big', "):
        load_recipe(write(tmp_path, '[model]\npreset = "huge"\n'))


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    text = '[model]\nd_model = 30\n[training]\nmax_step = 5\nlearning_rate = "fast"\n[search]\nbeam_size = 0\n[sarch]\n'
    with pytest.raises(ConfigError) as caught:
        load_recipe(write(tmp_path, text))
    problems = str(caught.value).split("\n")
    assert len(problems) == 5
    assert all(problem.startswith(f"{tmp_path / 'my.toml'}: ") for problem in problems)
    for part in (
        "model.d_model=30 is not divisible by model.n_heads=8; try n_heads=",
        "training.max_step is not a setting; did you mean 'max_steps'?",
        'training.learning_rate = "fast"',
        "search.beam_size is 0; use 1 for greedy, 2 to 1000 for a beam",
        "sarch is not a setting; did you mean 'search'?",
    ):
        assert part in str(caught.value)


def test_every_number_of_a_table_that_is_out_of_its_range_is_told(tmp_path: Path) -> None:
    lines = ["[training]", "max_steps = 0", "patience = -1", "learning_rate = -1.0", "beta1 = 2.0", "warm_up = 3"]
    path = write(tmp_path, "\n".join([*lines, "[model]", "dropout = 1.0", "d_ff = 0", "[tokenizer]", "vocab_size = 9"]))
    with pytest.raises(ConfigError) as caught:
        load_recipe(path)
    keys = [line.removeprefix(f"{path}: ").split(" ")[0] for line in str(caught.value).split("\n")]
    assert sorted(keys) == [
        "model.d_ff",
        "model.dropout",
        "tokenizer.vocab_size",
        "training.beta1",
        "training.learning_rate",
        "training.max_steps",
        "training.patience",
        "training.warm_up",
    ]


def test_missing_settings_are_named_with_their_meaning(tmp_path: Path) -> None:
    path = tmp_path / "empty.toml"
    path.write_text("[data]\n", encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_recipe(str(path))
    assert "data.src_lang is missing; it means: Source language" in str(caught.value)
    assert "data.corpora is missing" in str(caught.value)


def test_separate_vocabularies_go_with_other_ties(tmp_path: Path) -> None:
    text = '[tokenizer]\nshared = false\n[model]\ntied_embeddings = "target"\n'
    assert not load_recipe(write(tmp_path, text)).recipe.tokenizer.shared


def unexplained(config: Any) -> list[str]:
    """Settings of a config and of its parts that have no docstring."""
    meanings, parts = attribute_docs(type(config)), vars(config).items()
    inner = [name for _, part in parts if dataclasses.is_dataclass(part) for name in unexplained(part)]
    return inner + [name for name, value in parts if not dataclasses.is_dataclass(value) and name not in meanings]


def test_every_setting_has_a_meaning() -> None:
    assert [name for recipe in builtin_names() for name in unexplained(load_recipe(recipe).recipe)] == []


def resolve(schema: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    """Follow a $ref of a JSON schema; of several possibilities take the object."""
    for option in node.get("anyOf", []):
        if "$ref" in option:
            node = option
    return schema["$defs"][node["$ref"].rpartition("/")[2]] if "$ref" in node else node


def check(schema: dict[str, Any], node: dict[str, Any], value: Any, where: str) -> None:
    """Validate by hand what an editor would: keys, and the types and choices of their values."""
    node = resolve(schema, node)
    if isinstance(value, dict):
        assert node["type"] == "object", where
        assert node["additionalProperties"] is False, where
        assert value.keys() <= node["properties"].keys(), where
        assert set(node.get("required", [])) <= value.keys(), where
        for key, item in value.items():
            check(schema, node["properties"][key], item, f"{where}.{key}")
    elif isinstance(value, list):
        for item in value:
            check(schema, node["items"], item, where)
    elif "enum" in node:
        assert value in node["enum"], where
    elif "type" in node:
        types = {"string": str, "integer": int, "boolean": bool, "number": (int, float)}
        assert isinstance(value, types[node["type"]]), where


@pytest.mark.parametrize("name", builtin_names())
def test_the_json_schema_accepts_the_built_in_recipes(name: str) -> None:
    schema = json_schema(Recipe)
    loaded = load_recipe(name)
    check(schema, schema, tomllib.loads((RECIPES / f"{name}.toml").read_text("utf-8")), name)
    check(schema, schema, tomllib.loads(to_toml(loaded.recipe)), name)
    with pytest.raises(AssertionError):
        check(schema, schema, {"data": {}, "tusk": 1}, name)


def test_the_json_schema_explains_every_field_of_the_recipe() -> None:
    schema = json_schema(Recipe)
    assert schema["properties"].keys() == {field.name for field in dataclasses.fields(Recipe)}
    for entry in schema["properties"].values():  # what a field and its class say alike is said once
        assert "description" in entry or "description" in resolve(schema, entry)


def test_runs_stand_where_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("YIWEN_RUNS", "/somewhere")
    assert runs_root() == Path("/somewhere")
    monkeypatch.setenv("YIWEN_RUNS", "")
    assert runs_root() == Path("runs")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'task = "classify"\n[training]\nmetric = "bleu"',
            "training.metric='bleu' is not a score of task='classify'; use accuracy or macro_f1",
        ),
        (
            '[training]\nmetric = "span_f1"',
            "training.metric='span_f1' is not a score of task='translate'; use bleu or chrf",
        ),
        ("", "data.tgt_lang is missing; task='translate' needs both languages"),
        (
            'task = "classify"\n[training]\nmetric = "accuracy"\n[data.valid]\nsrc = "valid.txt"',
            "task='classify' needs a tgt beside each src, 'valid.txt' has none",
        ),
        (
            '[data]\ntgt_lang = "zh"\nmore_tests = [{ src = "more.en" }]',
            "task='translate' needs a tgt beside each src, 'more.en' has none",
        ),
        (
            'task = "embed"\n[training]\nmetric = "accuracy"\n[tokenizer]\nshared = false\n[data]\ntgt_lang = "zh"',
            "tokenizer.shared=False and tokenizer.sampling=0.0, but task='embed' has one encoder for both",
        ),
        ("[encoder]\nlayer_decay = 0.0", "encoder.layer_decay is 0.0; use more than 0 and at most 1"),
        ("[encoder]\nmask_share = 1.5", "encoder.mask_share is 1.5; use more than 0"),
    ],
)
def test_a_task_says_what_text_and_score_it_needs(tmp_path: Path, text: str, message: str) -> None:
    data = 'src_lang = "en"\ncorpora = [{ path = "x.tsv" }]\n'
    text = text.replace("[data]\n", f"[data]\n{data}") if "[data]\n" in text else f"{text}\n[data]\n{data}"
    (tmp_path / "my.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_recipe(str(tmp_path / "my.toml"))
    assert message in str(caught.value)


@pytest.mark.parametrize("task", METRICS)
def test_a_score_that_is_not_named_is_the_first_of_the_task(tmp_path: Path, task: Task) -> None:
    for path in (write(tmp_path, ""), write(tmp_path, "[training]\nmax_steps = 7\n")):
        recipe = load_recipe(path, [f"task={task}"]).recipe
        assert recipe.training.metric == METRICS[task][0]
        assert parse(Recipe, tomllib.loads(to_toml(recipe)), source="again") == recipe


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('training = "long"\ntask = "tag"\n', 'training = "long": '),
        ('task = "tags"\n', "task = \"tags\": input should be 'translate', 'classify', 'tag', 'mlm' or 'embed'"),
        ("task = [1]\n", "task = [1]: input should be 'translate'"),
    ],
)
def test_a_wrong_task_or_table_is_the_one_problem_of_a_recipe_without_a_score(
    tmp_path: Path, text: str, message: str
) -> None:
    path = Path(write(tmp_path, ""))
    path.write_text(text + path.read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_recipe(path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


METHODS = [
    re.findall(r"`([a-z_]+\.[a-z_]+) = ([^`]+)`", line)
    for line in (Path(__file__).parents[1] / "docs" / "en" / "quality.md").read_text(encoding="utf-8").split("\n")
    if re.match(r"\| `[a-z_]+\.[a-z_]+ = ", line)
]


@pytest.mark.parametrize("settings", METHODS, ids=lambda settings: settings[0][0])
def test_every_method_of_the_manual_can_be_named_in_a_recipe_as_it_is_printed(settings: list[tuple[str, str]]) -> None:
    recipe = load_recipe("tatoeba-en-zh", [f"{key}={value}" for key, value in settings]).recipe
    assert {key: attrgetter(key)(recipe) for key, _ in settings} == {
        key: tomllib.loads(f"v = {value}")["v"] for key, value in settings
    }


def test_the_manual_names_all_methods() -> None:
    assert len(METHODS) >= 11


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[tokenizer]\nshared = false\n",
            "model.tied_embeddings='all' needs one vocabulary, but tokenizer.shared=false; use tied_",
        ),
        (
            "[model]\nmax_len = 100\n",
            "data.max_tokens=256 is more than model.max_len=100; raise model.max_len or lower data.max_tokens",
        ),
        ('task = "classify"\n[training]\nmetric = "accuracy"\nrdrop = 3.0\n', "rdrop is for task='translate' alone"),
        ('task = "mlm"\n[training]\nmetric = "accuracy"\n[encoder]\nis_frozen = true\n', "leaves task='mlm' nothing"),
        ("[encoder]\nis_frozen = true\n", "task='translate' reads none of it; leave it out"),
        (
            'task = "mlm"\n[training]\nmetric = "accuracy"\n[encoder]\npooling = "attention"\n',
            "encoder.pooling='attention' learns by pooling, which task='mlm' does not; use 'mean'",
        ),
        (
            'task = "tag"\n[training]\nmetric = "accuracy"\n[encoder]\nis_frozen = true\n',
            "encoder.is_frozen=true keeps random weights; name a model in training.init_from as well",
        ),
        (
            'task = "mlm"\n[training]\nmetric = "accuracy"\nbatch_tokens = "auto"\nupdate_tokens = 4096\n',
            "training.batch_tokens='auto' is for translation; give task='mlm' a number, as 4096",
        ),
        (
            'task = "mlm"\n[training]\nmetric = "accuracy"\nattention = "packed"\n',
            "training.attention='packed' cannot go with task='mlm'; use 'auto' or 'fused'",
        ),
        (
            '[training]\nattention = "packed"\nguided_alignment = 0.1\n[model]\npositions = "alibi"\n'
            "attention_dropout = 0.1\nlayer_dropout = 0.1\nd_model = 48\nn_heads = 12\n"
            '[tokenizer]\nkind = "bpe"\nsampling = 0.1\n',
            "training.attention='packed' cannot go with model.positions='alibi' or model.attention_dropout or "
            "model.layer_dropout or heads whose width is no multiple of 8 up to 256 or "
            "training.guided_alignment or tokenizer.sampling; use 'auto' or 'fused'",
        ),
        ("[training]\nrdrop = 3.0\n[model]\ndropout = 0.0\nlayer_dropout = 0.1\n", "draws of model.dropout"),
        (
            'task = "tag"\n[training]\nmetric = "accuracy"\n[tokenizer]\nsampling = 0.1\n',
            "tokenizer.sampling cuts words anew, and task='tag' needs them as they are; leave it out",
        ),
        ("[training]\nword_dropout = 0.1\nguided_alignment = 0.1\n", "words that training.guided_alignment looks for"),
        (
            'task = "embed"\n[training]\nmetric = "accuracy"\n[tokenizer]\nsampling = 0.1\n',
            "sampling=0.1, but task='embed' has one encoder for both languages, and knows a text that comes twice by",
        ),
        ('[model]\npreset = ["base"]\n', "model.preset = [\"base\"]: input should be 'tiny', 'small'"),
        ('[training]\nbatch_tokens = "foo"\n', "training.batch_tokens = \"foo\": "),
    ],
)  # fmt: skip
def test_settings_that_do_not_go_together_or_would_do_nothing_are_refused(
    tmp_path: Path, text: str, message: str
) -> None:
    head, *rest = text.partition("[")
    path = Path(write(tmp_path, "".join(rest)))
    path.write_text(head + path.read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(ConfigError, match=re.escape(message)) as caught:
        load_recipe(str(path))
    assert "batch_tokens.int" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"search": None}, "search is None; its type is SearchConfig, use one of that"),
        ({"model": {"d_model": 6}}, "model is {'d_model': 6}; its type is ModelConfig, use one of that"),
        ({"task": "guess"}, 'task is \'guess\'; its type is "translate" | "classify"'),
    ],
)
def test_a_recipe_made_in_python_has_parts_of_their_own_kinds(changes: dict[str, Any], message: str) -> None:
    recipe = load_recipe("demo-en-zh").recipe
    with pytest.raises(ConfigError, match=f"^{re.escape(message)}"):
        dataclasses.replace(recipe, **changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cleaning": None}, "data.cleaning is None; its type is CleaningConfig, use one of that"),
        ({"corpora": [{"path": "a.tsv"}]}, "data.corpora is ({'path': 'a.tsv'},); its type is list of CorpusConfig"),
        ({"valid": "a.tsv"}, "data.valid is 'a.tsv'; its type is CorpusConfig, use one of that"),
        ({"more_tests": ["a.tsv"]}, "data.more_tests is ('a.tsv',); its type is list of CorpusConfig"),
    ],
)
def test_text_in_a_recipe_made_in_python_is_named_by_configs(changes: dict[str, Any], message: str) -> None:
    data = load_recipe("demo-en-zh").recipe.data
    with pytest.raises(ConfigError, match=f"^{re.escape(message)}"):
        dataclasses.replace(data, **changes)


def test_a_corpus_made_in_python_is_named_by_text() -> None:
    for path in (3, Path("a.tsv")):
        with pytest.raises(ConfigError, match=rf"^corpus path is {re.escape(repr(path))}; its type is str, use"):
            CorpusConfig(path=path)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"metrics": "bleu"}, """evaluation.metrics is 'bleu'; its type is list of "bleu" | "chrf" | "ter", use one"""),
        ({"metrics": ["BLEU"]}, "evaluation.metrics is ('BLEU',); its type is list of"),
        ({"n_bootstrap": "100"}, "evaluation.n_bootstrap is '100'; its type is int, use one of that"),
    ],
)
def test_scores_that_nobody_could_compute_are_refused_before_training(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=f"^{re.escape(message)}"):
        EvaluationConfig(**settings)


def test_a_recipe_may_be_a_path_and_its_settings_one_text() -> None:
    assert load_recipe(Path("demo-en-zh")).name == "demo-en-zh"
    one, several = (
        load_recipe("demo-en-zh", "training.max_steps=7"),
        load_recipe("demo-en-zh", ["training.max_steps=7"]),
    )
    assert one == several
    assert one.recipe.training.max_steps == 7
    with pytest.raises(ConfigError, match=r"^'x' is neither a file nor a built-in recipe"):
        load_recipe(Path("x"))
    with pytest.raises(ConfigError, match="a recipe is a NoneType; give its name or its path, not None"):
        load_recipe(None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (None, "settings is a NoneType; give a list of KEY=VALUE, not None"),
        ([1], "a setting is a int; give KEY=VALUE as one text, not 1"),
        (iter(["training.max_steps=7"]), "settings is a list_iterator; give a list of KEY=VALUE"),
        ({"training.max_steps": 7}, "settings is a dict; give a list of KEY=VALUE, not {'training.max_steps': 7}"),
    ],
)
def test_settings_are_texts(settings: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_recipe("demo-en-zh", settings)
