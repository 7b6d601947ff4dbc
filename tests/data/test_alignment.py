"""Two sides of unequal length: the error names both counts and the place where they began to drift."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yiwen.data.alignment import first_drift, unequal_sides


def parallel(n_lines: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Lengths of two parallel sides: the target is 0.9 to 1.5 times the source."""
    random = np.random.default_rng(seed)
    src = random.integers(10, 150, n_lines)
    return src, (src * random.uniform(0.9, 1.5, n_lines)).astype(int)


@settings(max_examples=50)
@given(st.integers(0, 10**6), st.integers(1, 499), st.integers(1, 5), st.booleans())
def test_the_place_of_a_lost_line_is_found_closely(seed: int, place: int, n_lost: int, from_target: bool) -> None:
    src, tgt = parallel(700, seed)
    lost = slice(place, place + n_lost)
    if from_target:
        found = first_drift(src, np.delete(tgt, lost))
    else:
        found = first_drift(np.delete(src, lost), tgt)
    assert abs(found - (place + 1)) <= 25


def test_the_place_is_found_where_one_language_takes_a_quarter_of_the_bytes() -> None:
    src, _ = parallel(700, 1)
    for place in (3, 317, 697):
        assert abs(first_drift(src * 4, np.delete(src, place)) - (place + 1)) <= 3


def test_a_side_that_was_cut_off_agrees_to_its_end() -> None:
    src, tgt = parallel(700, 1)
    assert first_drift(src, tgt[:500]) == 501
    assert first_drift(src, tgt[:0]) == 1


def written(folder: Path, src: list[str], tgt: list[str]) -> str:
    for name, side in (("a.en", src), ("a.de", tgt)):
        (folder / name).write_bytes("".join(f"{line}\n" for line in side).encode())
    return str(unequal_sides(folder / "a.en", folder / "a.de"))


def sentences(n_lines: int) -> tuple[list[str], list[str]]:
    return tuple(["x" * n for n in side] for side in parallel(n_lines, 3))  # type: ignore[return-value]


def test_the_message_names_files_counts_and_place(tmp_path: Path) -> None:
    src, tgt = sentences(300)
    del tgt[120]
    message = written(tmp_path, src, tgt)
    assert "a.en has 300 lines and " in message
    assert "a.de has 299: they must be equal" in message
    place = int(message.partition("from about line ")[2].partition(",")[0])
    assert abs(place - 121) <= 10


def test_a_side_cut_off_is_called_so(tmp_path: Path) -> None:
    src, tgt = sentences(300)
    for n_left in (250, 0):
        message = written(tmp_path, src, tgt[:n_left])
        assert f"a.de has {n_left}: they must be equal; they agree up to the last line of a.de, which seems" in message


def test_a_side_that_lacks_the_line_before_its_last_was_not_cut_off(tmp_path: Path) -> None:
    message = written(tmp_path, [*["x" * 10] * 6, "x" * 400, "x" * 10], ["x" * 10] * 7)
    assert "they drift apart from about line 7, look there" in message


def test_a_source_with_fewer_lines_is_the_side_that_is_looked_into(tmp_path: Path) -> None:
    src, tgt = sentences(300)
    src[49] = src[49] + "\r" + src.pop(50)
    message = written(tmp_path, src, [*tgt[:200], tgt[200] + "\f", *tgt[201:]])
    assert message.endswith(
        "a.en holds 1 x lone carriage return, first in line 50 (just the number missing); only LF ends a line here"
    )


@pytest.mark.parametrize(
    ("separator", "name"),
    [
        ("\r", "lone carriage return"),
        ("\u2028", "U+2028 or U+0085 line separator"),
        ("\x00", "NUL byte"),
        ("\f", "form feed or vertical tab"),
    ],
)
def test_characters_that_others_take_for_line_ends_are_named(tmp_path: Path, separator: str, name: str) -> None:
    src, tgt = sentences(300)
    tgt[49] = tgt[49] + separator + tgt.pop(50)
    message = written(tmp_path, src, tgt)
    assert f"a.de holds 1 x {name}, first in line 50 (just the number missing)" in message


def test_each_carriage_return_before_that_of_the_line_end_is_counted(tmp_path: Path) -> None:
    src, tgt = sentences(300)
    message = written(tmp_path, src, [f"{line}\r\r" for line in tgt[:299]])  # as of a file that was converted twice
    assert "a.de holds 299 x lone carriage return, first in line 1; only LF" in message


def test_they_are_counted_and_placed_in_long_files_too(tmp_path: Path) -> None:
    tgt = ["a"] * 60_000
    tgt[2], tgt[54_320], tgt[57_000] = "a\fb", "a\x00b\fc", "a\x00b"
    message = written(tmp_path, [*tgt, "a"], tgt)
    assert "a.de holds 2 x NUL byte, first in line 54321" in message
    assert "a.de holds 2 x form feed or vertical tab, first in line 3" in message
