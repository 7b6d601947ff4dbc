"""Figures: what they show is measured, what they write is the same every time."""

from __future__ import annotations

import io
import sys
import warnings
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from tiny_model import TinyRun
from yiwen.analysis import plots
from yiwen.bundle import load_model, open_bundle
from yiwen.errors import ConfigError, DataError, MissingDependencyError
from yiwen.model.attention import split_heads
from yiwen.model.config import ModelConfig
from yiwen.model.positions import sinusoids
from yiwen.model.transformer import Transformer


def build(**changes: object) -> Transformer:
    torch.manual_seed(1)
    shape = {"d_model": 24, "n_heads": 4, "d_ff": 7, "n_encoder_layers": 1, "n_decoder_layers": 1, "max_len": 211}
    return Transformer(ModelConfig(**{**shape, **changes}), src_vocab_size=11, tgt_vocab_size=11)  # type: ignore[arg-type]


def test_products_of_positions_depend_on_the_distance_alone_and_are_symmetric_until_a_matrix_mixes_them() -> None:
    table = sinusoids(200, 128).numpy()
    offsets, products = plots.offset_products(table, np.eye(128))
    assert (offsets[0], offsets[-1]) == (-50, 50)
    frequencies = 10000.0 ** (-np.arange(0, 128, 2) / 128)
    np.testing.assert_allclose(products, [np.cos(k * frequencies).sum() for k in offsets], rtol=1e-4)
    assert plots.symmetry(products) == pytest.approx(1.0)
    noise = np.random.default_rng(1).normal(size=(128, 128))
    assert plots.symmetry(plots.offset_products(table, noise)[1]) < 0.7


def test_symmetry_is_one_for_an_even_curve_and_zero_for_an_odd_one() -> None:
    x = np.arange(-7, 8)
    assert plots.symmetry(np.cos(x)) == pytest.approx(1.0)
    assert plots.symmetry(np.sin(x)) == pytest.approx(0.0)
    assert plots.symmetry(np.sin(x) + 3.0) == pytest.approx(0.0)  # a constant says nothing of distances


@pytest.mark.parametrize("n_kv_heads", [0, 2])
def test_the_trained_product_is_that_of_queries_and_keys(n_kv_heads: int) -> None:
    model = build(n_kv_heads=n_kv_heads, norm_order="pre")
    layer = model.encoder.layers[0]
    norm = torch.linspace(0.5, 1.5, 24)
    with torch.no_grad():
        layer.self_residual.norm.weight.copy_(norm)  # type: ignore[union-attr,operator]
        layer.self_attention.qkv_proj.bias.zero_()  # type: ignore[union-attr,operator]
        x, y = torch.randn(2, 1, 1, 24)
        heads = layer.self_attention.heads  # type: ignore[union-attr]
        q = split_heads(layer.self_attention.qkv_proj(x * norm)[..., :24], 6)  # type: ignore[union-attr,operator]
        k = split_heads(layer.self_attention.qkv_proj(y * norm)[..., 24 : 24 + heads.d_kv], 6)  # type: ignore
        scores = (q * k.repeat_interleave(heads.n_shared, dim=1)).sum(dim=-1)[0, :, 0]  # type: ignore[union-attr,operator]
    products = plots.query_key_products(model)
    found = [x[0, 0].numpy() @ product @ y[0, 0].numpy() for product in products]
    np.testing.assert_allclose(found, scores.numpy(), rtol=1e-4)


@pytest.mark.parametrize("positions", [None, "sinusoidal", "learned", "rotary", "alibi"])
def test_positions_are_drawn_for_every_kind_of_model(positions: str | None, tmp_path: Path) -> None:
    figure = plots.positions(build(positions=positions) if positions else None)
    titles = [axis.get_title() for axis in figure.axes]
    assert titles[0] == f"PE(pos, i), {'learned' if positions == 'learned' else 'sinusoidal'}"
    legend = [text.get_text() for text in figure.axes[2].get_legend().get_texts()]
    assert legend[0] == "identity: 1.00" or positions == "learned"
    assert len(legend) == (6 if positions in ("sinusoidal", "learned") else 2)
    plots.save(figure, tmp_path / "positions.svg")
    assert "Rotary: product of equal vectors" in (tmp_path / "positions.svg").read_text(encoding="utf-8")


def test_equal_figures_give_equal_files(tmp_path: Path) -> None:
    for name in ("one", "two"):
        for end in ("svg", "png"):
            plots.save(plots.masks(), tmp_path / f"{name}.{end}")
    for end in ("svg", "png"):
        assert (tmp_path / f"one.{end}").read_bytes() == (tmp_path / f"two.{end}").read_bytes()
    with pytest.raises(ConfigError, match=r"mask\.jpg ends in '\.jpg'; a figure is \.svg or \.png"):
        plots.save(plots.masks(), tmp_path / "mask.jpg")


def test_a_letter_that_no_font_has_is_told_of_where_it_becomes_a_box(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plots, "FONTS", ("DejaVu Sans",))
    plots.save(plots.masks(), tmp_path / "masks.svg")
    plots.save(plots.positions(None), tmp_path / "positions.png")
    remedy = r"masks\.png: boxes .* no font has; write \.svg, or install a Chinese font and remove ~/\.cache/matplotlib"
    with pytest.warns(UserWarning, match=remedy) as told:
        plots.save(plots.masks(), tmp_path / "masks.png")
    assert len(told) == 1


def test_what_else_matplotlib_warns_of_is_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figure = plots.positions(None)
    monkeypatch.setattr(figure, "savefig", lambda *_, **__: warnings.warn("something else", UserWarning, stacklevel=1))
    with pytest.warns(UserWarning, match="something else"):
        plots.save(figure, tmp_path / "positions.png")


def test_a_figure_that_cannot_be_drawn_leaves_the_earlier_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, figure = tmp_path / "masks.svg", plots.masks()
    path.write_text("earlier", encoding="utf-8")

    def broken(file: io.BytesIO, **_: object) -> None:
        file.write(b"half")
        raise OSError("no font")

    monkeypatch.setattr(figure, "savefig", broken)
    with pytest.raises(OSError, match="no font"):
        plots.save(figure, path)
    assert [each.read_text("utf-8") for each in tmp_path.iterdir()] == ["earlier"]


def test_positions_of_a_short_table_reach_less_far() -> None:
    offsets, products = plots.offset_products(sinusoids(8, 6).numpy(), np.eye(6))
    assert offsets.tolist() == [*range(-3, 4)]
    assert np.isfinite(products).all()


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ('{"step": 1, "lo', r"metrics\.jsonl is not there or empty"),
        (
            '{"step": 1, "loss": 2.5}\n{"st\n',
            r"metrics\.jsonl: line 2 is no record of a step \(.*\); delete that line",
        ),
        ('{"loss": 2.5}\n', r"metrics\.jsonl: line 1 is no record of a step \('step'\); delete that line"),
    ],
)
def test_a_damaged_record_is_told_of(tmp_path: Path, record: str, message: str) -> None:
    (tmp_path / "metrics.jsonl").write_text(record, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        plots.run_curves([tmp_path])


def test_the_masks_are_those_of_the_model() -> None:
    encoder, cross, causal, decoder = (axis.images[0].get_array() for axis in plots.masks().axes)
    assert (encoder > 0).sum() == 6 * 4
    assert (cross > 0).sum() == 5 * 4
    assert (causal > 0).sum() == 15
    assert (decoder > 0).sum() == 14  # the padded query looks at what is real


def test_where_no_update_counted_a_curve_has_a_gap(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text('{"step": 1, "loss": 2.5}\n{"step": 2, "loss": null}\n', encoding="utf-8")
    curves = plots.run_curves([tmp_path])
    ((steps, values),) = curves["loss"].values()
    assert (steps, values[0], np.isnan(values[1])) == ([1, 2], 2.5, True)
    (line,) = plots.lines(curves, x="step").axes[0].lines
    assert np.isnan(line.get_ydata()).tolist() == [False, True]


def test_curves_are_those_of_the_record(tiny_run: TinyRun, tmp_path: Path) -> None:
    curves = plots.run_curves([tiny_run.folder])
    assert set(curves) == {"loss", "learning_rate", "gradient_norm", "valid_loss", "valid_bleu"}
    steps, values = curves["valid_bleu"]["tiny"]
    assert steps == [60, 120, 180]
    assert all(0 <= value <= 100 for value in values)
    figure = plots.lines(curves, x="step")
    assert [axis.get_title() for axis in figure.axes][:2] == ["loss", "learning rate"]
    with pytest.raises(DataError, match=r"metrics\.jsonl is not there or empty; give the folder of a run"):
        plots.run_curves([tmp_path])


def test_lengths_are_counted(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    src, tgt = rng.integers(3, 17, 500), rng.integers(2, 13, 500)
    figure = plots.lengths(src, tgt, languages=("en", "zh"))
    assert figure.axes[0].get_title() == "Length of 500 pairs"
    legend = {text.get_text() for text in figure.axes[0].get_legend().get_texts()}
    assert legend == {f"en: mean {src.mean():.1f}", f"zh: mean {tgt.mean():.1f}"}
    plots.save(figure, tmp_path / "lengths.png")


def test_each_length_has_a_bar_of_its_own_and_the_axis_says_where_it_ends() -> None:
    src = np.array([3] * 300 + [4] * 600 + [5] * 90 + [6] * 8 + [40] * 2)
    axis = plots.lengths(src, src, languages=("en", "zh")).axes[0]
    assert axis.get_xlabel() == "subwords (up to 7: 99.5 %)"
    edges, heights = axis.patches[0].get_xy()[1:-1:2].T  # type: ignore[attr-defined]
    assert dict(zip(edges.tolist(), heights.tolist(), strict=True))[3.5] == 600
    ends = plots.lengths(np.array([1, 2, 3, 4]), np.array([1, 2, 3, 4]), languages=("en", "zh")).axes[0]
    assert max(ends.patches[0].get_xy()[:, 1]) == 1  # the two last lengths are not one bar


def test_positions_of_a_trained_model_are_drawn(tiny_run: TinyRun) -> None:
    figure = plots.positions(load_model(open_bundle(tiny_run.best)))
    assert "trained, head 2" in " ".join(text.get_text() for text in figure.axes[2].get_legend().get_texts())


def test_without_matplotlib_the_message_names_the_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingDependencyError, match=r"figures need matplotlib: pip install 'yiwen\[plots\]'"):
        plots.masks()


def test_every_run_has_its_name_in_the_legend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Matplotlib leaves out those that begin with a low line; the run that one stands in is `.`."""
    for name in ("_old", "new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "metrics.jsonl").write_text('{"step": 1, "loss": 0.5}\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path / "new")
    figure = plots.lines(plots.run_curves([tmp_path / "_old", Path()]), x="update")
    legend = figure.axes[0].get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["_old", "new"]


def test_a_run_may_have_dollars_and_chinese_in_its_name(tmp_path: Path) -> None:
    """Matplotlib would take what stands between two dollars for mathematics, and Chinese in a font without it."""
    figure = plots.lines({"loss": {"$演示_1$": ([1], [0.5])}}, x="update")
    plots.save(figure, tmp_path / "curves.svg")
    assert ">$演示_1$</text>" in (tmp_path / "curves.svg").read_text(encoding="utf-8")
    (label,) = figure.axes[0].get_legend().get_texts()
    assert label.get_fontfamily() == figure.axes[0].title.get_fontfamily()


def test_runs_of_one_name_are_two_curves_and_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    for number, folder in enumerate(("a", "b")):
        (tmp_path / folder / "m").mkdir(parents=True)
        record = f'{{"step": 1, "loss": {number}.5}}\n{{"step": 2, "lo'
        (tmp_path / folder / "m" / "metrics.jsonl").write_text(record, encoding="utf-8")
    runs = [tmp_path / "a" / "m", tmp_path / "b" / "m"]
    assert plots.run_curves(runs)["loss"] == {str(runs[0]): ([1], [0.5]), str(runs[1]): ([1], [1.5])}


def test_no_legend_of_the_positions_lies_over_a_line() -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = plots.positions(build(positions="sinusoidal"))
    FigureCanvasAgg(figure).draw()
    for axis in figure.axes[1:3]:
        legend = axis.get_legend().get_window_extent()
        lowest = min(axis.transData.transform(line.get_xydata())[:, 1].min() for line in axis.get_lines())
        assert legend.y1 < lowest
        assert legend.x0 >= axis.get_window_extent().x0
        assert legend.x1 <= axis.get_window_extent().x1


def test_figures_say_what_their_colours_mean() -> None:
    assert {axis.get_xlabel() for axis in plots.masks().axes} == {"blue: a row may look here"}
    labels = [axis.get_xlabel() for axis in plots.positions().axes]
    assert (labels[0], labels[3]) == ("dimension i (red: least, blue: greatest)", "position (dark red: 1)")


def test_the_words_beside_the_attention_of_a_long_sentence_stand_apart() -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    words, weights = ["▁word"] * 41, np.full((41, 41), 1 / 41)
    seen: Any = SimpleNamespace(
        place=SimpleNamespace(is_late=False), aligning=weights, erasure=weights, gradient=None, src_tokens=words,
        tgt_tokens=words,
    )  # fmt: skip
    figure = plots.sentence(seen)
    FigureCanvasAgg(figure).draw()
    for axis in figure.axes:
        across = [label.get_window_extent() for label in axis.get_xticklabels()]
        down = [label.get_window_extent() for label in axis.get_yticklabels()]
        assert (len(across), len(down)) == (41, 41)
        assert all(left.x1 <= right.x0 for left, right in pairwise(across))
        assert all(upper.y0 >= lower.y1 for upper, lower in pairwise(down))
