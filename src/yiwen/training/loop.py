"""The training loop: one for every task. What a task is, a `Job` says.

A run can be killed at any moment and goes on digit for digit: the order of the data is a pure function of (seed,
epoch), dropout and sampling of (seed, step, micro-batch), and everything else is in the checkpoint.
"""

from __future__ import annotations

import copy
import errno
import time
from collections.abc import Mapping
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
import torch
from rich.console import Console

from yiwen.data.batching import Update, epoch_updates
from yiwen.errors import Stopped, TrainingError
from yiwen.hardware import Hardware, release_memory
from yiwen.stop import GO_ON, NEW_RUN, StopFlag
from yiwen.training.average import average_weights, with_weights
from yiwen.training.checkpoint import Trained, last_scheduled, load_checkpoint, remove_old, save_checkpoint
from yiwen.training.config import TrainingConfig
from yiwen.training.job import Job, Snapshot
from yiwen.training.log import TrainingLog
from yiwen.training.memory import fit_in_memory, note_plan, read_plans
from yiwen.training.optimizer import build_optimizers, update_average
from yiwen.training.publish import publish, remove_others, restore_best
from yiwen.training.schedule import learning_rate
from yiwen.training.state import Progress
from yiwen.training.step import Gradients, ShardPool, apply_gradients, compute_gradients, try_batch


class Trainer:
    """One process's work on a run: from its first or last checkpoint to the end."""

    def __init__(
        self,
        run: Path,
        job: Job,
        config: TrainingConfig,
        *,
        hardware: Hardware,
        stop: StopFlag,
        resume_from: Path | None = None,
        console: Console | None = None,
    ) -> None:
        """Take up a run.

        Args:
            run: Its folder; the caller holds its lock.
            job: What to train.
            config: How.
            hardware: As chosen at the run's first start.
            stop: Polled at every update, in validation and before saving.
            resume_from: The checkpoint to go on from; None starts at step 0.
            console: Where progress is shown; None is silent.
        """
        self.run, self.job, self.config, self.stop = run, job, config, stop
        self.model = job.model.train()
        self.average = copy.deepcopy(job.model).eval() if config.ema_decay > 0 else None
        self.optimizers = build_optimizers(self.model, config, hardware, rate_of=job.rate_of)
        self.trained = Trained(self.model, self.average, self.optimizers)
        self.progress = Progress()
        data = job.lengths.fingerprint
        if resume_from is not None:
            self.progress = load_checkpoint(resume_from, self.trained, data=data)
        self.progress.data = data
        updates_of = partial(epoch_updates, job.lengths, seed=config.seed, update_tokens=config.update_tokens)
        self.updates_of = lru_cache(maxsize=1)(partial(updates_of, batch_tokens=config.micro_batch_tokens))
        self.smaller_plans = read_plans(run / "memory.jsonl")
        self.pool = ShardPool(hardware)
        self.log = TrainingLog(run, self.progress, max_steps=config.max_steps, console=console)
        self.saved_step = self.progress.step if resume_from is not None else -1

    def train(self) -> Progress:
        """Work until the last step, early stopping or a stop signal.

        Raises:
            Stopped: After a signal; a checkpoint of the last update was written.
            TrainingError: If the loss stays undefined.
        """
        with self.log, self.pool:
            try:
                if not restore_best(self.run, step=self.progress.best_step) and self.progress.best_step:
                    self._forget_best()
                if self.saved_step < 0:
                    self._save()
                    settings = {**vars(self.config), **vars(self.job.model_config)}
                    self.log.settings(settings, metrics=("valid/loss", f"valid/{self.config.metric}"))
                    if self.config.warmup_steps >= self.config.max_steps:
                        self.log.say("all updates are warm-up; lower training.warmup_steps, or raise max_steps")
                if not self._is_done():
                    self._try_largest_batch()
                self._validate_if_due()  # a stop inside a validation left it to be done
                self._save_if_due()
                # The end of a run that is longer now, or shorter: what is averaged goes by the max_steps of today.
                if self.progress.is_scheduled != self._is_due(self.config.checkpoint_every):
                    self._save()
                while not self._is_done():
                    self.stop.check("training")
                    self._update()
                    self._validate_if_due()
                    self._save_if_due()
                self._finish()
            except Stopped as stopped:
                if stopped.is_immediate:
                    raise
                if self.saved_step < self.progress.step:
                    self._save()
                raise Stopped(f"{stopped}; step {self.saved_step} is saved, {GO_ON}", signum=stopped.signum) from None
        return self.progress

    def _is_done(self) -> bool:
        is_patient = self.config.patience == 0 or self.progress.n_worse < self.config.patience
        return self.progress.step >= self.config.max_steps or not is_patient

    def _update(self) -> None:
        began = time.perf_counter()
        plan = self._next_plan()
        gradients = self._gradients(plan)
        step = self.progress.step + 1
        rate = learning_rate(step, self.config, d_model=self.job.model_config.d_model)
        if gradients.is_finite:
            norm, clip = gradients.norm, self.config.clip_norm
            apply_gradients(self.model, self.optimizers, rate=rate, norm=norm, clip_norm=clip, pool=self.pool)
            if self.average is not None:
                update_average(self.average, self.model, step=step, decay=self.config.ema_decay)
            self.progress.n_skipped_in_row = 0
            self.progress.loss_sum += gradients.loss_sum
            self.progress.loss_tokens += gradients.n_tokens
        else:
            self._skip(step, plan, gradients)
        self.progress.step = step
        self.progress.update += 1
        self.log.update(step, seconds=time.perf_counter() - began, n_tokens=gradients.n_tokens)
        if step % self.config.log_every == 0 and self.progress.loss_tokens:
            self.log.training(self.progress.line(learning_rate=rate, gradient_norm=gradients.norm))
            self.progress.loss_sum, self.progress.loss_tokens = 0.0, 0

    def _next_plan(self) -> Update:
        """The rows of the coming update; opens the next epoch where this one is done."""
        while self.progress.update >= len(updates := self.updates_of(epoch=self.progress.epoch)):
            self.progress.epoch += 1
            self.progress.update = 0
        return updates[self.progress.update]

    def _gradients(self, plan: Update) -> Gradients:
        step = self.progress.step + 1
        compute = partial(
            compute_gradients,
            self.model,
            load=self.job.load,
            loss_fn=self.job.loss_fn,
            seeds=(self.config.seed, step),
            pool=self.pool,
            batch_tokens=self.config.micro_batch_tokens if self.job.is_sampled else 0,
        )
        plan = self.smaller_plans.get(step, plan)  # an earlier start met the limit of memory here: do as it did
        gradients, fitted, left_out = fit_in_memory(plan, self.job.lengths, compute)
        if fitted is not plan:
            note_plan(self.run / "memory.jsonl", step, fitted, left_out)
            named = "; left out: " + ", ".join(map(self.job.where, left_out)) if left_out else ""
            self.log.say(f"step {step}: out of memory, the update was cut into {len(fitted)} micro-batches{named}")
        return gradients

    def _skip(self, step: int, plan: Update, gradients: Gradients) -> None:
        """Leave an update with an undefined loss or gradient out.

        Raises:
            TrainingError: After max_bad_updates in a row.
        """
        self.progress.n_skipped += 1
        self.progress.n_skipped_in_row += 1
        rows = np.concatenate(plan)
        places = ", ".join(self.job.where(int(row)) for row in rows[:5])
        what = f"loss {gradients.loss_sum:g}, gradient norm {gradients.norm:g}"
        where = f"epoch {self.progress.epoch}, update {self.progress.update}: {places}"
        self.log.say(f"step {step} left out: {what} ({where}{' ...' if len(rows) > 5 else ''})")
        if (n := self.progress.n_skipped_in_row) >= self.config.max_bad_updates:
            last = f"last: step {step}, {what}; {where}, {len(rows)} pairs in all"
            remedy = "lower training.learning_rate, raise training.warmup_steps, or look at these lines"
            raise TrainingError(f"{n} updates in a row had an undefined loss or gradient ({last}); {remedy}")

    def _validate_if_due(self) -> None:
        progress = self.progress
        if not self._is_due(self.config.validate_every) or progress.validated_step >= progress.step:
            return
        validation = self.job.validate(self.average or self.model, self.stop)
        release_memory()
        score, loss = validation.scores[self.config.metric], validation.scores.get("loss", 0.0)
        self.log.validation(validation, step=progress.step, epoch=progress.epoch)
        # A checkpoint that a stop inside this validation left knows nothing of it: it is written anew.
        progress.validated_step, self.saved_step = progress.step, min(self.saved_step, progress.step - 1)
        if progress.best_score is None or (score, -loss) > (progress.best_score, -progress.best_loss):
            progress.best_score, progress.best_loss = score, loss
            progress.best_step = progress.step
            if not 0 < self.config.patience <= progress.n_worse:  # a run that stopped early stays stopped
                progress.n_worse = 0
            self._publish("best", self._snapshot(validation.scores))
        else:
            progress.n_worse += 1

    def _forget_best(self) -> None:
        """Its bundle is gone: somebody removed it, or the checkpoints behind it. The next one validated is the best."""
        self.log.say(f"the best model, of step {self.progress.best_step}, is gone; the next validation makes another")
        self.progress.best_score, self.progress.best_step = None, 0
        if self._is_done():  # no validation is to come but that of the last update, and the checkpoint is told
            self.progress.validated_step, self.saved_step = 0, self.progress.step - 1

    def _snapshot(self, scores: Mapping[str, float]) -> Snapshot:
        """The weights that are validated, with what came of that."""
        kind, model = ("last", self.model) if self.average is None else ("ema", self.average)
        weights = {name: parameter.detach() for name, parameter in model.named_parameters()}
        return Snapshot(weights=weights, step=self.progress.step, kind=kind, scores=scores)

    def _publish(self, link: str, snapshot: Snapshot) -> None:
        """Write a bundle and point `best` or `final` at it."""
        if not all(bool(torch.isfinite(weight).all()) for weight in snapshot.weights.values()):
            remedy = f"lower training.learning_rate, {NEW_RUN}"
            raise TrainingError(f"weights at step {snapshot.step} are not finite; {remedy}")
        publish(self.run, link, step=snapshot.step, write=lambda path: self.job.save_bundle(path, snapshot))

    def _is_due(self, every: int) -> bool:
        """Whether it is time for what is done every so many updates, and after the last one."""
        step = self.progress.step
        return step > 0 and (step % every == 0 or step >= self.config.max_steps)

    def _save_if_due(self) -> None:
        if self._is_due(self.config.checkpoint_every) and self.saved_step < self.progress.step:
            self._save()

    def _save(self) -> None:
        """Publish a checkpoint, then remove what it makes superfluous.

        A full disk costs the checkpoint alone; where the last ones are averaged, one that is missing would change the
        model, and the run ends: it goes on from the checkpoint before.
        """
        folder = self.run / "checkpoints"
        # Of the step alone: a run that was stopped here has the same checkpoints to average as one that was not.
        self.progress.is_scheduled = self._is_due(self.config.checkpoint_every)
        try:
            self.progress.metrics_bytes = self.log.checkpoint(self.progress.step)
            save_checkpoint(folder, self.trained, progress=self.progress)
        except OSError as error:
            is_needed = self.saved_step < 0 or (self.config.average_last > 0 and not self.stop)
            if is_needed or error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            self.log.say(f"step {self.progress.step}: no room for a checkpoint ({error}); the last one is kept")
            return
        self.saved_step = self.progress.step
        remove_old(folder, keep_last=self.config.keep_last)
        remove_others(self.run, "best", step=self.progress.best_step)

    def _try_largest_batch(self) -> None:
        """Meet trouble with memory before step 1, not after hours: forward and backward of the largest batch."""
        began = time.perf_counter()
        try:
            try_batch(self.model, self.job.largest, loss_fn=self.job.loss_fn, pool=self.pool)
        except torch.OutOfMemoryError:
            self.log.say("the largest batch does not fit into memory: such batches will be cut in two as they come")
        self.model.zero_grad(set_to_none=True)
        self.stop.check("the trial of the largest batch")
        self.log.say(f"largest batch tried in {time.perf_counter() - began:.1f} s")

    def _finish(self) -> None:
        """Write the final bundle: the mean of the last checkpoints, or the weights that were validated."""
        if self.saved_step < self.progress.step:  # stopped early, between two checkpoints, or had no room
            self._save()
            self.stop.check("the last checkpoint")  # which a stop may have cost on a full disk
        snapshot = self._averaged() if self.config.average_last > 0 else self._snapshot({})
        self._publish("final", snapshot)
        if self.job.subwords is not None:
            self.log.embeddings(*self.job.subwords(snapshot.weights))
        remove_others(self.run, "final", step=self.progress.step)
        # A kill may have come between the last checkpoint and what it makes superfluous.
        remove_old(self.run / "checkpoints", keep_last=self.config.keep_last)

    def _averaged(self) -> Snapshot:
        """The mean of the last checkpoints, validated."""
        chosen = last_scheduled(self.run / "checkpoints", self.config.average_last)
        kind, weights = f"average of {len(chosen)} checkpoints", average_weights(chosen, self.stop)
        scores = self.job.validate(with_weights(self.model, weights), self.stop).scores
        self.log.say(f"{kind}: " + "  ".join(f"{name} {value:.4g}" for name, value in scores.items()))
        return Snapshot(weights=weights, step=self.progress.step, kind=kind, scores=scores)
