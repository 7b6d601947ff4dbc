"""The whole model: padding, tying, precision, limits and messages."""

from __future__ import annotations

import copy
import itertools
import re
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from yiwen.errors import ConfigError
from yiwen.model.attention import fused_attention, use_attention
from yiwen.model.config import ModelConfig
from yiwen.model.masks import padding_mask
from yiwen.model.transformer import Transformer

MakeModel = Callable[..., Transformer]
POSITIONS = ["sinusoidal", "learned", "rotary", "alibi"]
B, S, T = 3, 7, 5


def batch() -> tuple[Tensor, Tensor, Tensor]:
    """(src_ids, tgt_in, tgt_out) with padding in both."""
    generator = torch.Generator().manual_seed(4)
    src_ids = torch.randint(4, 31, (B, S), generator=generator)
    tgt_in = torch.randint(4, 31, (B, T), generator=generator)
    tgt_out = torch.randint(4, 31, (B, T), generator=generator)
    src_ids[1, 4:] = src_ids[2, 2:] = 0
    for tgt in (tgt_in, tgt_out):
        tgt[0, 2:] = tgt[1, 4:] = 0
    return src_ids, tgt_in, tgt_out


def loss_and_gradients(model: Transformer, src_ids: Tensor, tgt_in: Tensor, tgt_out: Tensor) -> list[Tensor]:
    model.zero_grad()
    logits = model.logits(model(src_ids, tgt_in))
    loss = F.cross_entropy(logits.flatten(0, 1), tgt_out.flatten(), ignore_index=0, reduction="sum")
    loss.backward()
    return [loss.detach(), *(p.grad.clone() for p in model.parameters() if p.grad is not None)]


@pytest.mark.parametrize("attend", ["plain", "fused"])
@pytest.mark.parametrize(("positions", "norm_order"), list(itertools.product(POSITIONS, ["post", "pre"])))
def test_padding_never_changes_logits_nor_gradients(
    make_model: MakeModel, positions: str, norm_order: str, attend: str
) -> None:
    model = make_model(positions=positions, norm_order=norm_order)
    if attend == "fused":
        use_attention(model, fused_attention)
    src_ids, tgt_in, tgt_out = batch()
    wider = F.pad(src_ids, (0, 3)), F.pad(tgt_in, (0, 2)), F.pad(tgt_out, (0, 2))
    logits, wide_logits = model.logits(model(src_ids, tgt_in)), model.logits(model(*wider[:2]))
    is_real = tgt_in != 0
    torch.testing.assert_close(wide_logits[:, :T][is_real], logits[is_real], rtol=0, atol=1e-5)
    results = zip(loss_and_gradients(model, src_ids, tgt_in, tgt_out), loss_and_gradients(model, *wider), strict=True)
    for narrow, wide in results:
        torch.testing.assert_close(wide, narrow, rtol=1e-5, atol=2e-5)


@pytest.mark.parametrize("tied", ["target", "none"])
@pytest.mark.parametrize("positions", POSITIONS)
def test_the_embedding_of_padding_has_no_influence_at_all(make_model: MakeModel, positions: str, tied: str) -> None:
    model = make_model(positions=positions, tied_embeddings=tied)
    src_ids, tgt_in, tgt_out = batch()
    # Only the input side: as an output row, pad takes part in every softmax.
    states = model(src_ids, tgt_in)[tgt_out != 0]
    (states**3).sum().backward()
    for embedding in (model.src_embedding, model.tgt_embedding):
        gradient = embedding.weight.grad
        assert gradient is not None
        assert (gradient[0] == 0).all()
        assert (gradient[4:].abs().sum(dim=1) > 0).any()
    if positions == "learned":
        assert isinstance(model.tgt_positions.weight, Tensor)
        assert model.tgt_positions.weight.grad is not None
        assert (model.tgt_positions.weight.grad[T:] == 0).all()


@pytest.mark.parametrize("positions", POSITIONS)
@torch.no_grad()
def test_a_sentence_has_the_same_logits_alone_and_in_any_batch(make_model: MakeModel, positions: str) -> None:
    model = make_model(positions=positions)
    src_ids, tgt_in, _ = batch()
    together = model.logits(model(src_ids, tgt_in))
    for row in range(B):
        n_src, n_tgt = int((src_ids[row] != 0).sum()), int((tgt_in[row] != 0).sum())
        alone = model.logits(model(src_ids[row : row + 1, :n_src], tgt_in[row : row + 1, :n_tgt]))
        torch.testing.assert_close(together[row, :n_tgt], alone[0], rtol=0, atol=1e-5)


@torch.no_grad()
def test_another_id_may_be_the_padding() -> None:
    torch.manual_seed(1)
    config = ModelConfig(d_model=24, n_heads=6, d_ff=13, n_encoder_layers=1, n_decoder_layers=1)
    model = Transformer(config, src_vocab_size=31, tgt_vocab_size=31, pad_id=30).eval()
    src_ids, tgt_in = torch.randint(0, 30, (1, S)), torch.randint(0, 30, (1, T))
    padded = F.pad(src_ids, (0, 3), value=30), F.pad(tgt_in, (0, 2), value=30)
    torch.testing.assert_close(model(*padded)[:, :T], model(src_ids, tgt_in), rtol=0, atol=1e-5)


@torch.no_grad()
def test_a_source_of_padding_only_gives_finite_logits(make_model: MakeModel) -> None:
    model = make_model()
    assert model.logits(model(torch.zeros(1, 3, dtype=torch.int64), torch.tensor([[2, 5]]))).isfinite().all()


def test_embeddings_are_scaled_by_the_root_of_d_model(make_model: MakeModel) -> None:
    model = make_model(positions="alibi", d_model=36)
    seen: list[Tensor] = []
    model.encoder.register_forward_pre_hook(lambda _module, inputs: seen.append(inputs[0]))
    model.encode(torch.tensor([[5, 7, 3]]))
    torch.testing.assert_close(seen[0][0], 6 * model.src_embedding.weight[[5, 7, 3]])


def storages(model: Transformer) -> tuple[int, int, int]:
    weights = (model.src_embedding.weight, model.tgt_embedding.weight, model.output_weight)
    return weights[0].data_ptr(), weights[1].data_ptr(), weights[2].data_ptr()


@pytest.mark.parametrize(("tied", "n_matrices"), [("all", 1), ("target", 2), ("none", 3)])
def test_embeddings_are_tied_as_the_config_says(make_model: MakeModel, tied: str, n_matrices: int) -> None:
    model = make_model(tied_embeddings=tied)
    src, tgt, out = storages(model)
    assert len({src, tgt, out}) == n_matrices
    assert (src == tgt) == (tied == "all")
    assert (tgt == out) == (tied != "none")
    n_vocabulary_rows = sum(p.size(0) for p in model.parameters() if p.dim() == 2 and p.size(0) == 31)
    assert n_vocabulary_rows == n_matrices * 31


@pytest.mark.parametrize("tied", ["all", "target", "none"])
def test_gradients_of_tied_matrices_are_the_sum_of_their_uses(make_model: MakeModel, tied: str) -> None:
    model = make_model(tied_embeddings=tied)
    untied = make_model(tied_embeddings="none")
    weights = {**model.state_dict(), "output_proj.weight": model.output_weight.detach().clone()}
    untied.load_state_dict(weights)
    batch_of_ids = batch()
    loss_and_gradients(model, *batch_of_ids)
    loss_and_gradients(untied, *batch_of_ids)
    src, tgt, out = (p.grad for p in (untied.src_embedding.weight, untied.tgt_embedding.weight, untied.output_weight))
    assert src is not None
    assert tgt is not None
    assert out is not None
    assert model.tgt_embedding.weight.grad is not None
    expected = {"all": src + tgt + out, "target": tgt + out, "none": tgt}[tied]
    torch.testing.assert_close(model.tgt_embedding.weight.grad, expected, rtol=1e-5, atol=1e-5)
    if tied != "all":
        assert model.src_embedding.weight.grad is not None
        torch.testing.assert_close(model.src_embedding.weight.grad, src, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("tied", ["all", "target"])
def test_ties_survive_a_copy_a_change_of_type_and_loading(make_model: MakeModel, tied: str) -> None:
    model = make_model(tied_embeddings=tied)
    loaded = make_model(tied_embeddings=tied, seed=2)
    loaded.load_state_dict(model.state_dict())
    for version in (copy.deepcopy(model), copy.deepcopy(model).double(), copy.deepcopy(model).bfloat16(), loaded):
        src, tgt, out = storages(version)
        assert tgt == out
        assert (src == tgt) == (tied == "all")
    src_ids, tgt_in, _ = batch()
    torch.testing.assert_close(loaded(src_ids, tgt_in), model(src_ids, tgt_in), rtol=0, atol=0)


def test_every_parameter_gets_a_gradient(make_model: MakeModel) -> None:
    for changes in ({}, {"positions": "learned", "norm_order": "pre", "activation": "swiglu", "n_kv_heads": 2}):
        model = make_model(**changes, tied_embeddings="none")
        loss_and_gradients(model, *batch())
        for name, parameter in model.named_parameters():
            assert parameter.grad is not None, name
            assert parameter.grad.abs().max() > 0, name


def test_two_vocabularies_cannot_be_tied_into_one(make_model: MakeModel) -> None:
    message = (
        "tied_embeddings='all' needs one vocabulary, but source has 29 entries and target 31; "
        "share the tokenizer or tie 'target'"
    )
    with pytest.raises(ConfigError, match=re.escape(message)):
        make_model(src_vocab_size=29)
    model = make_model(src_vocab_size=29, tied_embeddings="target")
    src_ids, tgt_in = torch.full((1, S), 28), torch.full((1, T), 30)
    assert model.logits(model(src_ids, tgt_in)).shape == (1, T, 31)


def test_a_model_is_made_from_a_config_alone() -> None:
    with pytest.raises(ConfigError, match=r"config is a dict; give a yiwen.model.config.ModelConfig, not \{'d_model'"):
        Transformer({"d_model": 8}, src_vocab_size=9, tgt_vocab_size=9)  # type: ignore[arg-type]


@pytest.mark.parametrize("positions", POSITIONS)
@torch.no_grad()
def test_the_longest_sequence_fits_and_one_more_is_refused(make_model: MakeModel, positions: str) -> None:
    model = make_model(positions=positions)  # max_len 17
    longest, longer = torch.randint(4, 31, (1, 17)), torch.randint(4, 31, (1, 18))
    assert model(longest, longest).shape == (1, 17, 24)
    message = (
        "a sequence of 18 subwords is longer than max_len=17; split the text, or train with a larger model.max_len"
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        model.encode(longer)
    with pytest.raises(ValueError, match=re.escape(message)):
        model(longest, longer)
    cache = model.start(model.encode(longest), padding_mask(longest, 0))
    for t in range(17):
        _, cache = model.step(longest[:, t], cache)
    with pytest.raises(ValueError, match=re.escape(message)):
        model.step(longest[:, 0], cache)


@pytest.mark.parametrize(("positions", "norm_order"), list(itertools.product(POSITIONS, ["post", "pre"])))
@torch.no_grad()
def test_bf16_autocast_stays_close_to_float32_also_step_by_step(
    make_model: MakeModel, positions: str, norm_order: str
) -> None:
    model = make_model(positions=positions, norm_order=norm_order, n_kv_heads=2)
    src_ids, tgt_in, _ = batch()
    exact = model.logits(model(src_ids, tgt_in))
    with torch.autocast("cpu", torch.bfloat16):
        rough = model.logits(model(src_ids, tgt_in))
        cache = model.start(model.encode(src_ids), padding_mask(src_ids, 0))
        steps = []
        for t in range(2):
            logits, cache = model.step(tgt_in[:, t], cache)
            steps.append(logits)
    is_real = tgt_in != 0
    spread = exact.std().item()
    assert (rough.float() - exact)[is_real].abs().max().item() < 0.1 * spread
    assert (torch.stack(steps, dim=1).float() - exact[:, :2]).abs().max().item() < 0.1 * spread


@torch.no_grad()
def test_a_model_in_bf16_itself_stays_close_to_float32(make_model: MakeModel) -> None:
    for positions in POSITIONS:
        model = make_model(positions=positions)
        src_ids, tgt_in, _ = batch()
        exact = model.logits(model(src_ids, tgt_in))
        rough = copy.deepcopy(model).bfloat16()
        logits = rough.logits(rough(src_ids, tgt_in))
        assert logits.dtype == torch.bfloat16
        assert (logits.float() - exact)[tgt_in != 0].abs().max().item() < 0.2 * exact.std().item()


def test_bf16_gradients_are_float32_and_point_the_same_way(make_model: MakeModel) -> None:
    model = make_model(norm_order="pre")
    exact = loss_and_gradients(model, *batch())
    with torch.autocast("cpu", torch.bfloat16):
        rough = loss_and_gradients(model, *batch())
    for name, ours, theirs in zip(["loss", *dict(model.named_parameters())], rough, exact, strict=True):
        assert ours.dtype in (torch.float32, torch.bfloat16 if name == "loss" else torch.float32), name
        if theirs.norm() > 1e-2:
            assert F.cosine_similarity(ours.flatten().float(), theirs.flatten(), dim=0) > 0.98, name


def test_dropout_makes_training_random_and_reproducible_and_evaluation_neither(make_model: MakeModel) -> None:
    model = make_model(dropout=0.3, attention_dropout=0.2)
    src_ids, tgt_in, _ = batch()
    assert torch.equal(model(src_ids, tgt_in), model(src_ids, tgt_in))
    model.train()
    results = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        results.append(model(src_ids, tgt_in))
    assert torch.equal(results[0], results[1])
    assert not torch.equal(results[0], results[2])


def test_dropout_stands_after_embeddings_and_after_each_sublayer(make_model: MakeModel) -> None:
    model = make_model(dropout=0.3)
    places = [name for name, module in model.named_modules() if type(module).__name__ == "Dropout"]
    sublayers = [f"encoder.layers.{n}.{kind}_residual.dropout" for n in range(2) for kind in ("self", "feed")]
    sublayers += [f"decoder.layers.{n}.{kind}_residual.dropout" for n in range(3) for kind in ("self", "cross", "feed")]
    assert places == ["embedding_dropout", *sublayers]


@torch.no_grad()
def test_logits_may_be_asked_for_any_states(make_model: MakeModel) -> None:
    model = make_model()
    states = model(*batch()[:2])
    whole = model.logits(states)
    torch.testing.assert_close(model.logits(states[1, 2]), whole[1, 2], rtol=0, atol=1e-6)
    torch.testing.assert_close(whole[1, 2], states[1, 2] @ model.tgt_embedding.weight.T, rtol=0, atol=1e-6)


@torch.no_grad()
def test_saved_weights_hold_no_tables_that_can_be_computed(make_model: MakeModel) -> None:
    for positions in ("sinusoidal", "rotary", "alibi"):
        model = make_model(positions=positions)
        assert set(model.state_dict()) == {name for name, _ in model.named_parameters(remove_duplicate=False)}


def test_every_linear_map_has_a_bias_but_the_output(make_model: MakeModel) -> None:
    model = make_model(tied_embeddings="none")
    without = [name for name, module in model.named_modules() if isinstance(module, nn.Linear) and module.bias is None]
    assert without == ["output_proj"]
