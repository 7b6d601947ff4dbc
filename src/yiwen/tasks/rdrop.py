"""R-Drop (Liang et al. 2021): two passes over the same sentences, with different dropout, should agree.

With the distributions p and q of the two passes at a token, the loss there is

    (CE(p) + CE(q)) / 2 + alpha / 4 (KL(p || q) + KL(q || p)),

half of the paper's (section 2.1), so that alpha is the paper's, and alpha = 0 the usual loss. As in `loss.py` the
logits exist in pieces, and their gradients are worked out where they are at hand:

    d KL(p || q) + KL(q || p) / d log p's logits = p (log p - log q - KL(p || q)) + p - q.

Shapes: N target tokens that are no padding, C of them at a time, D d_model, V vocabulary.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from yiwen.model.linear import compute_dtype
from yiwen.tasks.loss import rows_at_once, saved_gradients


def rdrop_loss(states_2ND: Tensor, weight_VD: Tensor, targets_N: Tensor, *, smoothing: float, alpha: float) -> Tensor:
    """The loss of both passes from their decoder states, never holding more than `rows_at_once` rows of logits.

    Args:
        states_2ND: Decoder states of real target positions, first and second pass.
        weight_VD: Output matrix; logits are states x weight^T.
        targets_N: Gold tokens, int64, the same for both.
        smoothing: Probability mass spread over the vocabulary, 0 <= smoothing < 1.
        alpha: Weight of the disagreement.

    Returns:
        Loss in nats, (), float32, summed over N tokens.
    """
    return _RDropLoss.apply(states_2ND, weight_VD, targets_N, smoothing, alpha)  # type: ignore[no-untyped-call]


class _RDropLoss(torch.autograd.Function):
    """Loss and both gradients in one pass over the logits. Products in autocast's type, the rest in float32."""

    @staticmethod
    def forward(
        ctx: Any, states_2ND: Tensor, weight_VD: Tensor, targets_N: Tensor, smoothing: float, alpha: float
    ) -> Tensor:
        dtype = compute_dtype(weight_VD)
        with torch.autocast(weight_VD.device.type, enabled=False):
            states, weight = states_2ND.to(dtype), weight_VD.to(dtype)
            states_grad = torch.empty_like(states_2ND)
            weight_grad = torch.zeros_like(weight_VD, dtype=torch.float32)
            loss_sum = torch.zeros((), dtype=torch.float32, device=states.device)
            n_rows = rows_at_once(states) // 2
            for start in range(0, targets_N.numel(), n_rows):
                chunk = slice(start, start + n_rows)
                states_2CD = states[:, chunk]
                z_2CV = (states_2CD @ weight.t()).float()
                loss, z_grad_2CV = _loss_of_logits(z_2CV, targets_N[chunk], smoothing=smoothing, alpha=alpha)
                loss_sum += loss
                z_grad = z_grad_2CV.to(dtype)
                states_grad[:, chunk] = z_grad @ weight
                weight_grad += z_grad.flatten(0, 1).t() @ states_2CD.flatten(0, 1)
        ctx.save_for_backward(states_grad, weight_grad)
        return loss_sum

    backward = staticmethod(saved_gradients)


def _loss_of_logits(z_2CV: Tensor, targets_C: Tensor, *, smoothing: float, alpha: float) -> tuple[Tensor, Tensor]:
    """Summed loss, (), and its gradient in the logits, (2, C, V), which takes their place."""
    log_p = torch.log_softmax(z_2CV, dim=2, out=z_2CV)
    gold_2C1 = targets_C.expand(2, -1)[..., None]
    cross_entropy = (smoothing - 1) * log_p.gather(2, gold_2C1).sum() - smoothing / log_p.size(2) * log_p.sum()
    p = log_p.exp()
    gap_CV = log_p[0] - log_p[1]
    kl_2C1 = torch.linalg.vecdot(p, gap_CV)[..., None]  # KL(p || q), and KL(q || p) with a minus
    loss = cross_entropy / 2 + alpha / 4 * (kl_2C1[0] - kl_2C1[1]).sum()
    grad = torch.sub(gap_CV, kl_2C1, out=z_2CV).mul_(p)  # of the disagreement; for the second pass with a minus
    grad.add_(torch.sub(p[0], p[1], out=gap_CV))
    grad[0].mul_(alpha / 4).add_(p[0], alpha=0.5)
    grad[1].mul_(-alpha / 4).add_(p[1], alpha=0.5)
    grad.sub_(smoothing / 2 / grad.size(2))
    grad.scatter_add_(2, gold_2C1, grad.new_full(gold_2C1.shape, smoothing / 2 - 0.5))
    return loss, grad
