"""Figures by matplotlib, as SVG or PNG: a sentence seen from inside, positions, masks, schedules, lengths, curves."""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from yiwen.analysis.attention import word_weights
from yiwen.errors import ConfigError, DataError, needing
from yiwen.files import require_place, write_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from torch import Tensor

    from yiwen.analysis.inspection import Inspection
    from yiwen.model.encoder import EncoderLayer
    from yiwen.model.transformer import Transformer

_OLDER: Final = ("Microsoft YaHei", "WenQuanYi Zen Hei", "SimHei")
FONTS: Final = ("DejaVu Sans", "Noto Sans CJK SC", "Noto Sans CJK JP", "PingFang SC", "Hiragino Sans GB", *_OLDER)
"""In this order, those that are installed: matplotlib has no Chinese font of its own."""


def require_figure(path: Path) -> None:
    """Make sure, before long work, that a figure of it can be written.

    Raises:
        ConfigError: If the name does not end in .svg or .png, or may not be written.
    """
    if path.suffix not in (".svg", ".png"):
        raise ConfigError(f"{path} ends in {path.suffix!r}; a figure is .svg or .png")
    require_place(path, name="--output")


def save(figure: Figure, path: Path) -> None:
    """Write a figure; equal figures give equal files. Warns of letters that no installed font has, in a PNG.

    Raises:
        ConfigError: As in `require_figure`.
    """
    require_figure(path)
    whole = io.BytesIO()
    with _settings(), warnings.catch_warnings(record=True, action="always") as told:
        metadata = {"Date": None} if path.suffix == ".svg" else None
        figure.savefig(whole, format=path.suffix[1:], dpi=150, metadata=metadata)
    write_bytes(path, whole.getvalue())
    others = [each.message for each in told if "missing from font" not in str(each.message)]
    for other in others:
        warnings.warn(other, stacklevel=2)
    if path.suffix == ".png" and len(others) < len(told):
        remedy = "write .svg, or install a Chinese font and remove ~/.cache/matplotlib (the old list of fonts)"
        warnings.warn(f"{path}: boxes stand for letters no font has; {remedy}", stacklevel=2)


def sentence(seen: Inspection) -> Figure:
    """Cross-attention of the alignment head and saliency, word by word."""
    read = "attention, read a row below" if seen.place.is_late else "attention"
    named = {read: seen.aligning, "erasure": seen.erasure, "gradient × input": seen.gradient}
    maps = {name: np.maximum(found, 0) for name, found in named.items() if found is not None}
    # A long sentence takes the room that the names of its words need.
    wide, high = (max(4.2, min(len(tokens), 150) / 6) for tokens in (seen.src_tokens, seen.tgt_tokens))
    figure, axes = _figure(1, len(maps), size=(wide * len(maps), high + 0.4))
    for axis, (name, weights) in zip(axes, maps.items(), strict=True):
        scaled = weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-9)
        merged, src_words, tgt_words = word_weights(scaled, seen.src_tokens, seen.tgt_tokens)
        _cells(axis, merged, src_words, tgt_words, title=name, xlabel="source; the darker, the more")
    return figure


def positions(model: Transformer | None = None) -> Figure:
    """What positions look like, and what attention can read from them.

    PE(pos)^T W PE(pos + k) is the part of an attention score that positions alone decide, W = W_q^T W_k. With the
    identity it says how far apart two positions are, the same both ways; a random W, as before training, loses that,
    and training has to find again what it needs (Yan et al. 2019).

    Args:
        model: A trained one, for its own W (first layer of the encoder) and positions; None shows the rest.
    """
    from yiwen.model.positions import LearnedPositions, sinusoids

    d_model = model.config.d_model if model is not None else 128
    table, name = sinusoids(200, d_model).numpy(), "sinusoidal"
    if model is not None and isinstance(model.src_positions, LearnedPositions):
        table, name = model.src_positions.weight.detach().numpy()[:200], "learned"
    noise = np.random.default_rng(1).normal(size=(d_model, d_model)) / np.sqrt(d_model)
    kinds = {"identity": np.eye(d_model), "random": noise}
    if model is not None and model.config.positions in ("sinusoidal", "learned"):
        kinds |= {f"trained, head {i}": head for i, head in enumerate(query_key_products(model), 1)}
    figure, axes = _figure(2, 3, size=(15, 8.5))
    axes[0].imshow(table[:100], aspect="auto", cmap="RdBu")
    axes[0].set(title=f"PE(pos, i), {name}", xlabel="dimension i (red: least, blue: greatest)", ylabel="position")
    for i in (0, 8, 24, 60):
        if i < d_model:
            axes[1].plot(table[:100, i], label=f"i = {i}")
    axes[1].set(title="Waves: one dimension along the sentence", xlabel="position", ylim=(-1.4, 1.1))
    axes[1].legend(loc="lower center", ncols=4)
    for kind, matrix in kinds.items():
        offsets, products = offset_products(table, matrix)
        style = "--" if kind.startswith("trained") else "-"
        axes[2].plot(offsets, products / np.abs(products).max(), style, label=f"{kind}: {symmetry(products):.2f}")
    axes[2].set(title="PE(pos)ᵀ W PE(pos + k), scaled", xlabel="offset k", ylim=(axes[2].get_ylim()[0] - 0.8, 1.1))
    axes[2].legend(title="W: share that is symmetric", fontsize="small", loc="lower center", ncols=2)
    unit = table[:100] / np.maximum(np.linalg.norm(table[:100], axis=1, keepdims=True), 1e-9)
    axes[3].imshow(unit @ unit.T, cmap="RdBu_r", vmin=-1, vmax=1)
    axes[3].set(title=f"Cosines between positions, {name}", xlabel="position (dark red: 1)", ylabel="position")
    _relative(axes[4], axes[5])
    return figure


def _relative(rotary: Any, alibi: Any) -> None:
    """The two ways that know distances only."""
    import torch

    from yiwen.model.positions import RotaryPositions, alibi_slopes

    turned = RotaryPositions(200, 64)(torch.ones(1, 1, 200, 64))[0, 0].numpy()
    rotary.plot(turned[0] @ turned.T / 64)
    rotary.set(title="Rotary: product of equal vectors", xlabel="distance")
    for i, slope in enumerate(alibi_slopes(8).tolist(), 1):
        alibi.plot(-slope * np.arange(100), label=f"head {i}")
    alibi.set(title="ALiBi: what is added to a score", xlabel="distance")
    alibi.legend(fontsize="small")


def query_key_products(model: Transformer) -> np.ndarray:
    """W_q^T W_k of each head in the first layer of the encoder, (H, D, D), the norm before it included."""
    layer = cast("EncoderLayer", model.encoder.layers[0])
    heads = layer.self_attention.heads
    weight = layer.self_attention.qkv_proj.weight.detach()
    if model.config.norm_order == "pre":
        weight = weight * cast("Tensor", layer.self_residual.norm.weight).detach()
    d_model = model.config.d_model
    q_HKD = weight[:d_model].view(-1, heads.d_head, d_model)
    k_HKD = weight[d_model : d_model + heads.d_kv].view(-1, heads.d_head, d_model).repeat_interleave(heads.n_shared, 0)
    return (q_HKD.transpose(1, 2) @ k_HKD).numpy()


def offset_products(table: np.ndarray, matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """PE(pos)^T W PE(pos + k) for k from -50 to 50, the mean over positions that have both: (101,).

    A table of fewer than 101 positions reaches less far.
    """
    products = table @ matrix @ table.T
    reach = min(50, (len(table) - 1) // 2)
    middle, offsets = np.arange(reach, len(table) - reach), np.arange(-reach, reach + 1)
    return offsets, np.array([products[middle, middle + k].mean() for k in offsets])


def symmetry(products: np.ndarray) -> float:
    """Share of a curve over offsets that is the same both ways: 1 for an even function, 0 for an odd one."""
    curve = products - products.mean()
    even = (curve + curve[::-1]) / 2
    return float((even**2).sum() / max((curve**2).sum(), 1e-30))


def masks() -> Figure:
    """The three masks of the model, as `model.masks` makes them for a batch of two sentences."""
    import torch

    from yiwen.model.masks import causal_mask, padding_mask, target_mask

    src, tgt = ["a", "small", "dog", "</s>", "pad", "pad"], ["<s>", "一只", "小", "狗", "pad"]
    src_ids, tgt_ids = torch.tensor([[5, 6, 7, 3, 0, 0]]), torch.tensor([[2, 5, 6, 7, 0]])
    shown = {
        "padding: encoder": (padding_mask(src_ids, 0)[0, 0].expand(6, 6), src, src),
        "padding: target looks at source": (padding_mask(src_ids, 0)[0, 0].expand(5, 6), tgt, src),
        "causal: no looking ahead": (causal_mask(5, torch.device("cpu"))[0, 0], tgt, tgt),
        "decoder: causal and not padding": (target_mask(tgt_ids, 0)[0, 0], tgt, tgt),
    }
    figure, axes = _figure(1, 4, size=(16, 4.6))
    for axis, (name, (mask, rows, columns)) in zip(axes, shown.items(), strict=True):
        _cells(axis, mask.float().numpy() * 0.7, columns, rows, title=name, xlabel="blue: a row may look here")
    return figure


def lines(curves: Mapping[str, Mapping[str, tuple[Sequence[float], Sequence[float]]]], *, x: str) -> Figure:
    """One panel for each quantity, one line in it for each name: {quantity: {name: (x values, y values)}}."""
    n_columns = min(2, len(curves))
    n_rows = -(-len(curves) // n_columns)
    figure, axes = _figure(n_rows, n_columns, size=(7.5 * n_columns, 3.8 * n_rows))
    for axis, (quantity, named) in zip(axes, curves.items(), strict=False):
        for steps, values in named.values():
            axis.plot(steps, values, marker="o" if len(steps) < 3 else None)
        axis.set(title=quantity.replace("_", " "), xlabel=x)
        axis.grid(alpha=0.3)
        with _settings():  # a name may be Chinese, or hold two dollars
            axis.legend(axis.get_lines(), [*named], fontsize="small")  # by hand: `_old` would get no label
    for axis in axes[len(curves) :]:
        axis.remove()
    return figure


def run_curves(runs: Sequence[Path]) -> dict[str, dict[str, tuple[list[float], list[float]]]]:
    """What runs wrote into metrics.jsonl, ready for `lines`.

    Raises:
        DataError: If a folder holds no metrics, or damaged ones.
    """
    curves: dict[str, dict[str, tuple[list[float], list[float]]]] = {}
    called = [run.absolute().name for run in runs]
    names = {run: name if called.count(name) == 1 else str(run) for run, name in zip(runs, called, strict=True)}
    for run in runs:
        path = run / "metrics.jsonl"
        records = path.read_bytes().split(b"\n")[:-1] if path.is_file() else []
        if not records:
            raise DataError(f"{path} is not there or empty; give the folder of a run that has begun to train")
        for number, record in enumerate(records, 1):
            try:
                entry = json.loads(record)
                step = entry["step"]
            except (ValueError, TypeError, KeyError) as error:
                raise DataError(f"{path}: line {number} is no record of a step ({error}); delete that line") from error
            for quantity, value in entry.items():
                if quantity not in ("step", "epoch") and not quantity.endswith("perplexity"):  # it is e to the loss
                    steps, values = curves.setdefault(quantity, {}).setdefault(names[run], ([], []))
                    steps.append(step)
                    values.append(np.nan if value is None else value)
    return curves


def lengths(src: np.ndarray, tgt: np.ndarray, *, languages: tuple[str, str]) -> Figure:
    """How long sentences are, and how long their translations: subwords without eos, (N,) each."""
    figure, axes = _figure(1, 2, size=(13, 4.6))
    longest = int(np.percentile(np.maximum(src, tgt), 99.5)) + 1
    bins = np.arange(longest + 2) - 0.5  # a length is the middle of its bar
    for values, language in zip((src, tgt), languages, strict=True):
        axes[0].hist(values, bins=bins, histtype="step", label=f"{language}: mean {values.mean():.1f}")
    axes[0].set(title=f"Length of {len(src):,} pairs", xlabel=f"subwords (up to {longest}: 99.5 %)", ylabel="sentences")
    axes[0].legend()
    axes[1].hist2d(src, tgt, bins=bins, cmap="Blues", norm="log")
    axes[1].set(title="Both sides", xlabel=f"{languages[0]}, subwords", ylabel=f"{languages[1]}, subwords")
    return figure


def _cells(axis: Any, weights: np.ndarray, columns: Sequence[str], rows: Sequence[str], **labels: str) -> None:
    """A table of shares, 0 to 1, with names on both sides."""
    axis.imshow(weights, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    axis.set_xticks(range(len(columns)), columns, rotation=90, parse_math=False)
    axis.set_yticks(range(len(rows)), rows, parse_math=False)
    axis.set_xticks(np.arange(1, len(columns)) - 0.5, minor=True)
    axis.set_yticks(np.arange(1, len(rows)) - 0.5, minor=True)
    axis.grid(which="minor", color="white", linewidth=1.5)
    axis.tick_params(which="both", length=0)
    axis.set(**labels)


def _figure(n_rows: int, n_columns: int, *, size: tuple[float, float]) -> tuple[Figure, list[Any]]:
    with _settings():
        from matplotlib.figure import Figure

        figure = Figure(figsize=size, layout="constrained")
        return figure, list(figure.subplots(n_rows, n_columns, squeeze=False).flat)


@contextmanager
def _settings() -> Iterator[None]:
    with needing("figures need matplotlib", extra="plots"):
        import matplotlib.font_manager
    installed = set(matplotlib.font_manager.get_font_names())
    fonts = [name for name in FONTS if name in installed]
    # Text stays text in SVG: whoever looks at it has a font for it.
    rules: Any = {"font.family": fonts, "svg.fonttype": "none", "svg.hashsalt": "yiwen", "text.parse_math": False}
    with matplotlib.rc_context(rules):
        yield
