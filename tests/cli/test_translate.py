"""`yiwen translate`: every line in gives one line out, through pipes and files."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from commands import YIWEN, Asked, Commands

from tiny_model import TinyRun, tampered
from yiwen.search.mbr import by_agreement
from yiwen.stop import StopFlag
from yiwen.translator import Translator

QUICK = ("--beam-size", 1, "--threads", 1)


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-c", YIWEN, *map(str, arguments)]


def test_lines_go_in_and_lines_come_out(run: Commands, tiny_run: TinyRun) -> None:
    texts = ["Peku suse.", "", "Bapu logi kabe.", "   "]
    done = run("translate", tiny_run.best, "--threads", 1, stdin="\n".join(texts).encode() + b"\n")
    expected = Translator.load(tiny_run.best, threads=1).translate(texts)
    assert (done.code, done.err) == (0, "")
    assert done.lines == [t.text for t in expected]


def test_all_that_is_asked_is_handed_on(run: Commands, tiny_run: TinyRun, asked_of: Asked) -> None:
    asked = asked_of("yiwen.translator.Translator.translate_lines")
    options = "--engine torch --device cpu --dtype bf16 --threads 3 --ensemble e --to de --by-sentence --no-checks"
    assert run("translate", tiny_run.best, *options.split(" "), "--beam-size", 7).err == "error: enough\n"
    how, rules = asked
    named = {"engine": "torch", "device": "cpu", "dtype": "bf16", "threads": 3}
    assert how == {**named, "ensemble": [Path("e")], "tgt_lang": "de"}
    search, stop = rules.pop("search"), rules.pop("stop")
    assert (search.beam_size, type(stop)) == (7, StopFlag)
    assert rules == {"glossary": None, "by_sentence": True, "with_scores": False, "checks": False}


def test_a_run_and_an_exported_engine_translate_too(run: Commands, tiny_run: TinyRun, exported_bundle: Path) -> None:
    plain, of_run, exported, sampled, refused = (
        run("translate", model, *options, "--threads", 1, stdin=b"Deti gedi bapu.\n")
        for model, *options in (
            (tiny_run.best,),
            (tiny_run.folder,),
            (exported_bundle,),
            (exported_bundle, "--sampling"),
            (tiny_run.best, "--engine", "ctranslate2"),
        )
    )
    assert plain.out == of_run.out == exported.out != b""
    assert [done.code for done in (plain, of_run, exported, sampled)] == [0, 0, 0, 0]
    assert refused.code == 2
    assert f"yiwen export {tiny_run.best} --to ctranslate2" in refused.err


def test_why_the_exported_engine_is_passed_over_is_told(
    run: Commands, exported_bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ctranslate2.get_supported_compute_types", lambda *device: {"int8"})
    done = run("translate", exported_bundle, *QUICK, stdin=b"Deti.\n")
    assert done.code == 0
    assert done.err.startswith(f"note: the exported engine of {exported_bundle} computes in float32, which this proc")


@pytest.mark.parametrize(
    ("text", "n_lines"),
    [
        (b"", 0),
        (b"\n", 1),
        (b"Deti", 1),
        (b"Deti\r\n\r\nbapu\r\n", 3),
        ("\ufeffDeti\u2028gedi\u0085\n\x00\n\x0b\x0c\x1c\n".encode(), 3),
        (b"\xff\n\xfe\xfd deti\n", 2),
        (b"deti\rgedi\n" * 3, 3),
    ],
)
def test_there_are_as_many_lines_out_as_in(text: bytes, n_lines: int, run: Commands, tiny_run: TinyRun) -> None:
    done = run("translate", tiny_run.best, *QUICK, stdin=text)
    assert done.code == 0
    assert done.out.count(b"\n") == n_lines
    done.out.decode("utf-8")


def test_flags_are_counted_on_stderr(run: Commands, tiny_run: TinyRun) -> None:
    text = b"\xff deti\n" + b"deti gedi " * 40 + b"\n" + b"\xfe gedi\n"
    done = run("translate", tiny_run.best, *QUICK, stdin=text)
    assert done.code == 0
    assert "flagged lines: " in done.err
    assert "2 invalid_utf8" in done.err
    assert "1 segmented" in done.err
    assert "flagged" not in done.out.decode()


def test_a_glossary_is_kept_to(run: Commands, tiny_run: TinyRun, tmp_path: Path) -> None:
    (tmp_path / "terms.tsv").write_text("deti\tHaus\ngedi\n", encoding="utf-8")
    done = run("translate", tiny_run.best, *QUICK, "--glossary", tmp_path / "terms.tsv", stdin=b"Bapu deti.\nGedi\n")
    assert done.code == 0
    assert "Haus" in done.lines[0]
    assert done.lines[1] == "Gedi"
    missing = run("translate", tiny_run.best, *QUICK, "--glossary", tmp_path / "no.tsv", stdin=b"")
    assert (missing.code, "no.tsv is not a file" in missing.err) == (3, True)
    table = tmp_path / "terms.tsv"
    refused = run("translate", tiny_run.best, *QUICK, "--glossary", table, "--output", table, stdin=b"Gedi\n")
    assert (refused.code, f"{table} is what is read, and would be lost" in refused.err) == (2, True)


def test_the_sentences_of_a_line_are_translated_one_by_one_where_asked(run: Commands, tiny_run: TinyRun) -> None:
    text = b"Deti gedi bapu. Kabe robu.\n"
    translator = Translator.load(tiny_run.best, threads=1)
    first, second = translator.translate(
        ["Deti gedi bapu.", "Kabe robu."], search=translator.bundle.info.search.changed(beam_size=1)
    )
    done = run("translate", tiny_run.best, *QUICK, "--by-sentence", stdin=text)
    assert done.lines == [f"{first} {second}"]


def test_chinese_is_written_in_the_script_that_is_asked_for(run: Commands, tiny_run: TinyRun, tmp_path: Path) -> None:
    chinese = tampered(tiny_run.best, tmp_path / "zh", tgt_lang="zh-Hans")
    done = run("translate", chinese, *QUICK, "--to", "zh-Hant", stdin="头发\n".encode())
    assert done.lines == ["頭髮"]
    assert run("translate", tiny_run.best, *QUICK, "--to", "zh", stdin=b"").code == 2


def test_files_give_what_pipes_give(run: Commands, tiny_run: TinyRun, tmp_path: Path) -> None:
    source = tiny_run.recipe.parent / "test.en"
    piped = run("translate", tiny_run.best, *QUICK, stdin=source.read_bytes())
    packed = tmp_path / "test.en.gz"
    packed.write_bytes(gzip.compress(source.read_bytes()))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    threading.Thread(target=pipe.write_bytes, args=(source.read_bytes(),), daemon=True).start()
    for given in (source, packed, pipe):
        done = run("translate", tiny_run.best, *QUICK, "--input", given, "--output", tmp_path / "out.de")
        assert (done.code, done.out) == (0, b"")
        assert (tmp_path / "out.de").read_bytes() == piped.out
    assert piped.out.count(b"\n") == 40


def test_a_dash_is_stdin_or_stdout(
    run: Commands, tiny_run: TinyRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    piped = run("translate", tiny_run.best, *QUICK, stdin=b"Deti gedi.\n")
    dashes = run("translate", tiny_run.best, *QUICK, "--input", "-", "--output", "-", stdin=b"Deti gedi.\n")
    assert (dashes.code, dashes.out) == (0, piped.out)
    assert piped.out.count(b"\n") == 1
    assert not (tmp_path / "-").exists()


def test_n_best_lists_have_line_score_and_text(run: Commands, tiny_run: TinyRun) -> None:
    done = run("translate", tiny_run.best, "--n-best", 2, "--threads", 1, stdin=b"Deti gedi.\n\nKabe robu.\n")
    rows = [line.split("\t") for line in done.lines]
    assert [row[0] for row in rows] == ["1", "1", "2", "3", "3"]
    assert rows[2] == ["2", "0.0000", ""]
    assert float(rows[0][1]) >= float(rows[1][1])
    assert all(len(row) == 3 for row in rows)


def test_sampling_repeats_with_its_seed(run: Commands, tiny_run: TinyRun) -> None:
    def sample(seed: int) -> bytes:
        options = ("--sampling", "--temperature", 2.0, "--top-k", 20, "--top-p", 0.95, "--seed", seed, "--threads", 1)
        return run("translate", tiny_run.best, *options, stdin=b"Deti gedi bapu.\n" * 9).out

    assert sample(1) == sample(1) != sample(2)


def test_a_model_that_samples_by_itself_is_told_how_without_being_told_to(
    run: Commands, tiny_run: TinyRun, tmp_path: Path
) -> None:
    model = tampered(tiny_run.best, tmp_path / "model", search={"beam_size": 1, "sampling": True})
    drawn = [
        run("translate", model, "--seed", seed, "--temperature", 2.0, "--threads", 1, stdin=b"Deti gedi bapu.\n" * 9)
        for seed in (1, 2)
    ]
    assert [done.code for done in drawn] == [0, 0]
    assert drawn[0].out != drawn[1].out


def test_sampling_from_an_exported_model_says_that_torch_translates(run: Commands, exported_bundle: Path) -> None:
    done = run("translate", exported_bundle, "--sampling", "--threads", 1, stdin=b"Deti gedi bapu.\n")
    assert (done.code, done.err) == (0, "note: an exported engine cannot sample; using torch\n")


def test_the_length_penalty_moves_the_choice(run: Commands, tiny_run: TinyRun) -> None:
    source = (tiny_run.recipe.parent / "test.en").read_bytes()
    short, long = (
        run("translate", tiny_run.best, "--length-penalty", value, "--threads", 1, stdin=source).out
        for value in (-3.0, 3.0)
    )
    assert len(short) < len(long)


def test_a_search_that_the_engine_cannot_do_is_refused_whatever_the_text(run: Commands, exported_bundle: Path) -> None:
    for text in (b"", b"\n", b"42\n", b"Deti.\n"):
        done = run("translate", exported_bundle, "--engine", "ctranslate2", "--sampling", stdin=text)
        assert (done.code, done.out) == (2, b"")
        assert "use engine='torch' to sample" in done.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--beam-size", "0"], "search.beam_size is 0; use 1 for greedy, 2 to 1000 for a beam"),
        (["--n-best", "9"], "search.n_best=9 asks for more than search.beam_size=5 can find"),
        (["--temperature", "0"], "search.temperature is 0.0; use 0.01 to 1000000"),
        (["--top-k", "9", "--seed", "0"], "--top-k, --seed: for --sampling alone; add it, or leave this out"),
        (["--temperature", "0.5", "--top-p", "0.5"], "--temperature, --top-p: for --sampling alone"),
        (["--sampling", "--beam-size", "4"], "search.beam_size: sampling has no beam"),
        (["--sampling", "--seed", f"{10**30}"], f"search.seed is {10**30}; use 0 or more, less than 2**62"),
        (["--strict", "--no-checks"], "--strict asks for what the checks find; leave --no-checks out"),
        (["--dtype", "int4"], "dtype='int4' is unknown; use 'auto', 'float32' or 'bf16'"),
        (["--device", "tpu"], "device='tpu' is unknown"),
        (["--output", "missing/out.txt"], "--output missing/out.txt: the folder missing does not exist; make it first"),
        (["--output", "."], "--output . is a folder or may not be written; give the path of a file"),
        (["--beam-sise", "5"], "No such option"),
    ],
)
def test_wrong_options_exit_2(options: list[str], message: str, run: Commands, tiny_run: TinyRun) -> None:
    done = run("translate", tiny_run.best, *options, stdin=b"Deti.\n")
    assert (done.code, done.out) == (2, b"")
    assert message in done.err


def test_a_model_that_is_none_exits_4(run: Commands, tiny_run: TinyRun, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    damaged = tmp_path / "damaged"
    shutil.copytree(tiny_run.best, damaged)
    (damaged / "shared.spm").write_bytes(b"")
    for model, message in (
        (tmp_path / "missing", "missing is not a folder; give a bundle, for example runs/NAME/best"),
        (tmp_path / "empty", "has no manifest.json: it was never finished or is no yiwen folder"),
        (damaged, "is damaged: shared.spm has changed; restore it from a copy"),
        (
            tampered(tiny_run.best, tmp_path / "new", format_version=99),
            "has format 99, this yiwen reads 1",
        ),
    ):
        done = run("translate", model, stdin=b"Deti.\n")
        assert (done.code, done.out) == (4, b"")
        assert message in done.err
        assert "Traceback" not in done.err


def test_text_that_is_not_there_exits_3(run: Commands, tiny_run: TinyRun, tmp_path: Path) -> None:
    done = run("translate", tiny_run.best, "--input", tmp_path / "none.txt", "--output", tmp_path / "out.txt")
    assert done.code == 3
    assert "none.txt is not a file; give an existing one" in done.err
    assert not (tmp_path / "out.txt").exists()


def test_an_output_file_appears_whole_or_not_at_all(run: Commands, tiny_run: TinyRun, tmp_path: Path) -> None:
    packed = tmp_path / "cut.gz"
    packed.write_bytes(gzip.compress(b"Deti gedi.\n" * 9000)[:-20])
    output = tmp_path / "out.de"
    output.write_bytes(b"what was there before\n")
    done = run("translate", tiny_run.best, *QUICK, "--input", packed, "--output", output)
    assert done.code == 3
    assert "cut.gz is damaged" in done.err
    assert output.read_bytes() == b"what was there before\n"
    assert not list(tmp_path.glob(".tmp-*"))


def test_a_reader_that_leaves_ends_it_quietly(exported_bundle: Path, tmp_path: Path) -> None:
    rules = (b"-" * 40 + b"\n") * 5000  # more than a pipe holds: it cannot be done before its reader leaves
    (tmp_path / "in.txt").write_bytes(b"Deti gedi bapu.\n" + rules)
    arguments = command("translate", exported_bundle, *QUICK, "--input", tmp_path / "in.txt")
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().endswith(b".\n")
        process.stdout.close()
        error = process.stderr.read()
        assert process.wait(60) == 1
    assert error == b""


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_reaches_a_command_that_waits_for_text(signum: signal.Signals, exported_bundle: Path) -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    ready = YIWEN.replace(
        "sys.exit",
        "import yiwen.cli.streams as s; r = s._Stdin.readinto; exec('''def f(*a):\n"
        " print('waiting', flush=True)\n return r(*a)'''); s._Stdin.readinto = f; sys.exit",
    )
    arguments = [sys.executable, "-c", ready, "translate", str(exported_bundle), "--threads", "1"]
    with subprocess.Popen(arguments, **pipes) as process:  # type: ignore[call-overload]
        assert process.stdout.readline() == b"waiting\n"
        process.send_signal(signum)
        assert process.wait(30) == 128 + signum
        assert process.stderr.read().decode() == f"stopped by {signum.name} during reading\n"


def test_of_many_samples_the_one_most_like_the_others_is_taken(run: Commands, tiny_run: TinyRun) -> None:
    options = (tiny_run.best, "--sampling", "--temperature", 1.5, "--threads", 1)
    one = run("translate", *options, "--mbr", 16, stdin=b"Deti gedi bapu.\n")
    assert (one.code, len(one.lines)) == (0, 1)
    samples = run("translate", *options, "--n-best", 16, stdin=b"Deti gedi bapu.\n")
    texts = [line.split("\t")[2] for line in samples.lines]
    assert one.lines == [texts[by_agreement(texts)[0]]]
    few = run("translate", *options, "--mbr", 16, "--n-best", 3, stdin=b"Deti gedi bapu.\n")
    assert [line.split("\t")[2] for line in few.lines] == [texts[place] for place in by_agreement(texts)[:3]]


def test_the_best_of_a_beam_may_be_chosen_by_agreement_too(run: Commands, exported_bundle: Path) -> None:
    one, all_ = (
        run("translate", exported_bundle, "--beam-size", 8, option, 8, "--threads", 1, stdin=b"Deti gedi bapu.\n")
        for option in ("--mbr", "--n-best")
    )
    texts = [line.split("\t")[2] for line in all_.lines]
    assert one.lines == [texts[by_agreement(texts)[0]]]
    refused = run("translate", exported_bundle, "--mbr", 16, stdin=b"")
    assert (refused.code, "search.mbr=16 asks for more than search.beam_size=5 can find" in refused.err) == (2, True)


def test_two_models_translate_together(run: Commands, tiny_run: TinyRun) -> None:
    source = (tiny_run.recipe.parent / "test.en").read_bytes()
    done = run("translate", tiny_run.best, "--ensemble", tiny_run.early, "--threads", 1, stdin=source)
    texts = source.decode().removesuffix("\n").split("\n")
    both, best = (
        [str(found) for found in Translator.load(tiny_run.best, ensemble=others, threads=1).translate(texts)]
        for others in ([tiny_run.early], [])
    )
    assert done.lines == both != best


FAULTY = b"Peku suse.\nKabe 25 robu.\n\nBapu \xff {x} logi.\n"
"""The tiny model has seen neither numbers nor placeholders."""


def test_strict_names_faulty_lines_and_fails_when_all_are_written(
    run: Commands, tiny_run: TinyRun, tmp_path: Path
) -> None:
    plain = run("translate", tiny_run.best, *QUICK, stdin=FAULTY)
    strict = run("translate", tiny_run.best, *QUICK, "--strict", stdin=FAULTY)
    assert (plain.code, strict.code, strict.out) == (0, 5, plain.out)
    told = strict.err.split("\n")
    assert told[0] == "line 2: numbers"
    assert told[1] == "line 4: invalid_utf8, placeholders"
    assert told[2].startswith("flagged lines: 1 invalid_utf8, 1 numbers, 1 placeholders")
    assert "--strict: 2 of 4 translations have a fault; all are written and these are named above" in strict.err
    output = tmp_path / "out.txt"
    assert run("translate", tiny_run.best, *QUICK, "--strict", "--output", output, stdin=FAULTY).code == 5
    assert output.read_bytes() == plain.out
    one = run("translate", tiny_run.best, *QUICK, "--strict", stdin=b"Kabe 25 robu.\n")
    assert (one.code, "--strict: 1 of 1 translations have a fault" in one.err) == (5, True)


def test_strict_says_nothing_where_there_is_no_fault(run: Commands, tiny_run: TinyRun) -> None:
    done = run("translate", tiny_run.best, *QUICK, "--strict", stdin=b"Peku suse.\n\n42 + 17\n")
    assert (done.code, done.err) == (0, "flagged lines: 1 passed_through\n")
    assert run("translate", tiny_run.best, *QUICK, "--strict").code == 0


def test_json_tells_all_there_is_to_know_of_a_line(run: Commands, tiny_run: TinyRun, exported_bundle: Path) -> None:
    plain = run("translate", tiny_run.best, "--beam-size", 3, "--n-best", 2, "--threads", 1, stdin=FAULTY)
    done = run("translate", tiny_run.best, "--beam-size", 3, "--n-best", 2, "--threads", 1, "--json", stdin=FAULTY)
    told = [json.loads(line) for line in done.lines]
    assert [each["line"] for each in told] == [1, 2, 3, 4]
    assert [*told[0]] == ["line", "text", "flags", "confidence", "score", "alternatives"]
    assert [each["flags"] for each in told] == [[], ["numbers"], [], ["invalid_utf8", "placeholders"]]
    assert [each["text"] for each in told[0]["alternatives"]] == [line.split("\t")[2] for line in plain.lines[:2]]
    assert (told[2]["text"], told[2]["score"], told[2]["confidence"]) == ("", 0.0, None)
    assert told[0]["score"] < 0
    greedy = run("translate", exported_bundle, *QUICK, "--json", stdin=b"Peku suse.\n")
    assert json.loads(greedy.out)["score"] < 0  # which this engine leaves out where nobody will look at it
