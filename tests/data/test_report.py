"""The report: back from JSON as it was, and on a screen of 80 columns."""

from __future__ import annotations

import dataclasses
import io
import json

from rich.console import Console

from yiwen.data.report import Dropped, Example, Findings, Report, print_report

REPORT = Report(
    read=1013,
    kept=907,
    dropped=(
        Dropped(
            reason="length ratio", count=97, examples=(Example(where="a.en line 7", src="[b]x" * 30, tgt="中文" * 40),)
        ),
        Dropped(
            reason="invalid UTF-8",
            count=3,
            examples=(Example(where="b.en line 1", src="\ufffd\x00\x1b[31m\x9b31m", tgt="y"),),
        ),
    ),
    overlong=("a.en line 9",),
    corpora=(("a.en", 1000, 900), ("b.en", 13, 7)),
    valid_split=6,
    test_split=0,
    valid_pairs=6,
    test_pairs=11,
    src_tokens=9070,
    tgt_tokens=10884,
    src_bytes_share=0.0125,
    tgt_bytes_share=0.0,
    src_vocab_size=8000,
    tgt_vocab_size=7993,
    notes=("a note that is much longer than a line of eighty columns can be, so that it has to be wrapped",),
    seconds=2.0,
)


def test_the_report_comes_back_from_json() -> None:
    assert Report.from_json(REPORT.to_json()) == REPORT
    assert json.loads(REPORT.to_json())["pairs_per_second"] == 506.5
    assert "\n" not in REPORT.to_json()


def shown(report: Report) -> str:
    out = io.StringIO()
    print_report(report, Console(file=out, width=200, force_terminal=False))
    return out.getvalue()


def test_the_report_fits_eighty_columns_and_tells_all() -> None:
    from yiwen.text.chinese import visual_length

    text = shown(REPORT)
    assert max(map(visual_length, text.split("\n"))) <= 80
    for part in (
        "read 1,013 pairs in 2.0 s, 506 pairs/s; kept 907 (89.5%)", "a.en: 900 of 1,000", "valid: 6 pairs split off",
        "test: 11 pairs\n", "dropped 97: length ratio", "a.en line 7: [b]x[b]x", "12.0", "1.25%", "7,993",
        "note: a note",
    ):  # fmt: skip
        assert part in text, part
    assert not {*text} & {*"\x1b\x9b\x00"}


def test_texts_are_shown_as_they_are() -> None:
    src = r"C:\[b] :smile: [/b]"
    dropped = Dropped(reason="length", count=1, examples=(Example(where="a.en line 7", src=src, tgt="y"),))
    text = shown(dataclasses.replace(REPORT, dropped=(dropped,), notes=(src,)))
    assert f"a.en line 7: {src} " in text
    assert f"note: {src}\n" in text


def test_a_report_of_nothing_timed_names_no_rate() -> None:
    text = shown(dataclasses.replace(REPORT, seconds=0.0))
    assert text.startswith("read 1,013 pairs; kept 907")


def test_three_examples_of_each_reason_are_kept() -> None:
    findings = Findings()
    findings.drop("late", 0, [])
    for n in range(5):
        findings.drop(
            "length",
            2,
            [Example(where=f"line {2 * n}", src="", tgt=""), Example(where=f"line {2 * n + 1}", src="", tgt="")],
        )
    (only,) = findings.dropped()
    assert (only.reason, only.count) == ("length", 10)
    assert [example.where for example in only.examples] == ["line 0", "line 1", "line 2"]
