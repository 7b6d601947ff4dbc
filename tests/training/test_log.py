"""What a run writes down, and reads back."""

from __future__ import annotations

import io
import json
import math
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from toy_job import Killed, toy_job, train, trainer

from tiny_model import TinyRun
from yiwen.bundle import open_bundle
from yiwen.training.log import Record, TrainingLog, whole_lines
from yiwen.training.state import Progress
from yiwen.training.validation import Validation


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def board(run: Path) -> Any:
    """The TensorBoard files of a run, read back."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = EventAccumulator(str(run / "tensorboard"), size_guidance={"images": 0, "tensors": 0, "scalars": 0})
    found.Reload()
    return found


def show(job: Any) -> Any:
    """A job whose validation also gives samples and a picture."""

    def validate(model: Any, stop: Any) -> Validation:
        return replace(
            job.validate(model, stop),
            samples=[("ein Hund", "a dog", "a dog .|")],
            picture=np.full((24, 36), 0.25, dtype=np.float32),
            drawing="狗 │██│\n   └──┘",
        )

    return replace(job, validate=validate)


def test_a_record_is_cut_back_to_its_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    record = Record(path, n_bytes=0)
    record.write({"a": "译"})
    assert path.read_text(encoding="utf-8") == '{"a": "译"}\n', "at once, for who watches"
    n_bytes = record.sync()
    record.write({"b": 2})
    record.close()
    again = Record(path, n_bytes=n_bytes)
    assert again.sync() == n_bytes, "what a stop before the next line would keep"
    again.write({"c": 3})
    again.close()
    assert path.read_text(encoding="utf-8") == '{"a": "译"}\n{"c": 3}\n'


def test_a_record_is_on_the_disk_before_a_checkpoint_counts_on_its_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr("os.fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_size))
    with TrainingLog(tmp_path, Progress(), max_steps=9, console=None) as log:
        log.metrics.write({"a": 1})
        assert [log.checkpoint(1)] == synced == [(tmp_path / "metrics.jsonl").stat().st_size]


def test_whole_lines_leave_out_what_a_kill_cut(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    assert whole_lines(path) == 0
    path.write_bytes(b"{}\n{}\n{")
    assert whole_lines(path) == 6


def test_a_training_line_divides_once_and_never_overflows() -> None:
    line = Progress(step=3, epoch=1, loss_sum=6.0, loss_tokens=4).line(learning_rate=0.5, gradient_norm=2.0)
    assert line == {
        "step": 3,
        "epoch": 1,
        "loss": 1.5,
        "perplexity": pytest.approx(4.4816890703),
        "learning_rate": 0.5,
        "gradient_norm": 2.0,
    }
    huge = Progress(step=3, epoch=1, loss_sum=1e9, loss_tokens=1).line(learning_rate=0.5, gradient_norm=2.0)
    assert huge["perplexity"] == pytest.approx(2.688e43, rel=1e-3)


def test_what_is_no_finite_number_is_null_in_the_record(tmp_path: Path) -> None:
    record = Record(tmp_path / "a.jsonl", n_bytes=0)
    record.write(Progress(step=3, loss_sum=6.0, loss_tokens=4).line(learning_rate=0.5, gradient_norm=math.nan))
    record.write({"validation": {"valid_loss": math.inf, "valid_bleu": 2.5}})
    record.close()
    line, judged = lines(tmp_path / "a.jsonl")
    assert judged == {"validation": {"valid_loss": None, "valid_bleu": 2.5}}
    assert (line["loss"], line["gradient_norm"], line["learning_rate"]) == (1.5, None, 0.5)


def test_the_record_holds_no_clock(tmp_path: Path) -> None:
    train(tmp_path)
    keys = {key for line in lines(tmp_path / "metrics.jsonl") for key in line}
    assert keys == {
        *("step", "epoch", "loss", "perplexity", "learning_rate", "gradient_norm"),
        *("valid_loss", "valid_perplexity", "valid_bleu"),
    }


def test_tensorboard_shows_everything(tmp_path: Path) -> None:
    train(tmp_path, job=show(toy_job()))
    found = board(tmp_path)
    names = found.Tags()["scalars"]
    for name in ("loss", "perplexity", "learning_rate", "gradient_norm", "tgt_tokens_per_s"):
        assert f"train/{name}" in names
    for name in ("loss", "perplexity", "bleu"):
        assert f"valid/{name}" in names
    record = {line["step"]: line["loss"] for line in lines(tmp_path / "metrics.jsonl") if "loss" in line}
    shown = {event.step: event.value for event in found.Scalars("train/loss")}
    assert shown == pytest.approx(record)
    assert found.Images("cross-attention")[-1].width == 36
    text = found.Tensors("samples/text_summary")[0].tensor_proto.string_val[0].decode()
    assert "| ein Hund | a dog | a dog .\\| |" in text
    drawn = found.Tensors("cross-attention/text_summary")[0].tensor_proto.string_val[0].decode()
    assert drawn == "    狗 │██│\n       └──┘"


def test_tensorboard_compares_runs_by_their_settings(tmp_path: Path) -> None:
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

    for _ in range(2):  # the second start adds nothing
        train(tmp_path)
    found = board(tmp_path).summary_metadata
    parts = [HParamsPluginData.FromString(each.plugin_data.content) for tag, each in found.items() if "hparams" in tag]
    (settings,) = (part.session_start_info.hparams for part in parts if part.HasField("session_start_info"))
    assert settings["learning_rate"].number_value == 0.01
    assert settings["optimizer"].string_value == "adamw"
    assert (settings["d_model"].number_value, settings["preset"].string_value) == (5, "None")
    (experiment,) = (part.experiment for part in parts if part.HasField("experiment"))
    metrics = [info.name.tag for info in experiment.metric_infos]
    assert metrics == ["valid/loss", "valid/bleu"]
    assert set(metrics) <= set(board(tmp_path).Tags()["scalars"])


def test_the_projector_is_given_subwords_by_name(tmp_path: Path) -> None:
    from google.protobuf import text_format
    from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig

    vectors = np.array([[0.12345, -1.0], [2.0, 0.0], [3.0, 1e-9]])
    train(tmp_path, job=replace(toy_job(), subwords=lambda weights: (vectors, ["▁the", "一\t个", "\n"])))
    folder = tmp_path / "tensorboard"
    config = text_format.Parse((folder / "projector_config.pbtxt").read_text(encoding="utf-8"), ProjectorConfig())
    (embedding,) = config.embeddings
    assert (folder / embedding.metadata_path).read_text(encoding="utf-8") == "▁the\n一 个\n·\n"
    assert np.loadtxt(folder / embedding.tensor_path, delimiter="\t").tolist() == vectors.round(3).tolist()


def test_tensorboard_hides_what_a_killed_start_wrote(tmp_path: Path) -> None:
    for at in (4, 9, 18):
        work = trainer(tmp_path)
        real = work._save_if_due

        def killed(work: Any = work, real: Any = real, at: int = at) -> None:
            if work.progress.step == at:
                raise Killed
            real()

        work._save_if_due = killed  # type: ignore[method-assign]
        with pytest.raises(Killed):
            work.train()
        (events,) = (tmp_path / "tensorboard").glob("*.tfevents.1*")  # named by the second: here all are the same
        events.rename(events.with_name(f"events.out.tfevents.{at:010}.host"))
    train(tmp_path)
    steps = [event.step for event in board(tmp_path).Scalars("train/loss")]
    assert steps == [3, 6, 9, 12, 15, 18, 21]


def test_the_time_adds_up_over_all_starts(tmp_path: Path) -> None:
    def log(step: int) -> TrainingLog:
        return TrainingLog(tmp_path, Progress(step=step), max_steps=9, console=None)

    with log(0) as first:
        first.update(1, seconds=2.0, n_tokens=30)
        first.update(2, seconds=3.0, n_tokens=20)
        first.checkpoint(2)
        first.update(3, seconds=100.0, n_tokens=20)
        first.training({"step": 3, "loss": 1.0, "perplexity": 2.7, "learning_rate": 0.1, "gradient_norm": 1.0})
    with (tmp_path / "timing.jsonl").open("ab") as file:
        file.write(b'{"step": 4, "sec')
    with log(2) as second:
        assert second.train_seconds == 5.0
        second.update(3, seconds=4.0, n_tokens=8)
        second.training({"step": 3, "loss": 1.0, "perplexity": 2.7, "learning_rate": 0.1, "gradient_norm": 1.0})
        second.update(4, seconds=2.0, n_tokens=14)
        second.training({"step": 4, "loss": 1.0, "perplexity": 2.7, "learning_rate": 0.1, "gradient_norm": 1.0})
    assert [line["seconds"] for line in lines(tmp_path / "timing.jsonl")] == [5.0, 105.0, 9.0, 11.0]
    assert [line["tgt_tokens_per_s"] for line in lines(tmp_path / "timing.jsonl")[-2:]] == [2, 7]
    with log(3) as third:
        assert third.train_seconds == 9.0


@pytest.mark.parametrize("is_terminal", [False, True])
def test_a_bar_is_drawn_on_a_terminal_alone(tmp_path: Path, is_terminal: bool) -> None:
    text = io.StringIO()
    console = Console(file=text, force_terminal=is_terminal, width=200, color_system=None)
    with TrainingLog(tmp_path, Progress(), max_steps=9, console=console) as log:
        log.update(1, seconds=2.0, n_tokens=30)
        log.training({"step": 1, "loss": 1.25, "perplexity": 2.7, "learning_rate": 0.1, "gradient_norm": 1.0})
        log.say("best: runs/a[b]/best " + "x" * 300)
    if is_terminal:
        assert "loss 1.250" in text.getvalue()
        assert "15 tok/s" in text.getvalue()
    else:
        assert text.getvalue() == f"best: runs/a[b]/best {'x' * 300}\n"


def test_a_validation_is_told_with_the_minutes_of_training(tmp_path: Path) -> None:
    text = io.StringIO()
    with TrainingLog(tmp_path, Progress(), max_steps=9, console=Console(file=text, width=200)) as log:
        log.update(1234, seconds=90.0, n_tokens=30)
        log.validation(Validation(scores={"loss": 1.5, "bleu": 23.456}, samples=[]), step=1234, epoch=2)
    assert text.getvalue() == "step 1,234  valid_loss 1.5  valid_bleu 23.46  (1.5 min)\n"
    assert lines(tmp_path / "metrics.jsonl") == [{"step": 1234, "epoch": 2, "valid_loss": 1.5, "valid_bleu": 23.456}]


def test_without_a_console_nothing_is_said(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    train(tmp_path)
    assert capfd.readouterr() == ("", "")


def test_a_translators_board_is_complete_readable_and_small(tiny_run: TinyRun) -> None:
    found, folder = board(tiny_run.folder), tiny_run.folder / "tensorboard"
    assert {"train/loss", "valid/bleu", "valid/loss"} <= set(found.Tags()["scalars"])
    names = (folder / "names.tsv").read_text(encoding="utf-8").split("\n")[:-1]
    pieces = open_bundle(tiny_run.best).target
    assert names == pieces.pieces(range(260, pieces.vocab_size))
    assert np.loadtxt(folder / "subwords.tsv", delimiter="\t").shape == (len(names), 32)
    drawn = found.Tensors("cross-attention/text_summary")[-1].tensor_proto.string_val[0].decode()
    sample = found.Tensors("samples/text_summary")[-1].tensor_proto.string_val[0].decode().split("\n")[2]
    translation = sample.split("|")[2].strip()
    for word in translation.removesuffix(".").split():
        assert f"{word} │" in drawn
    assert found.Images("cross-attention")[-1].height % 12 == 0
    assert sum(path.stat().st_size for path in folder.iterdir()) < 200_000
