"""Subword sampling is part of exact resume: the same seed must cut alike in every process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from test_old_bundles import write_bundle

PROGRAM = """
import sys
from pathlib import Path
from yiwen.text.subword import Subword
subword = Subword.load(Path(sys.argv[1]))
print(subword.encode_sampled(["ba be bi bo bu da", "de di do du ka ke"] * 5, sampling=0.1, seed=7))
"""


@pytest.mark.xfail(
    strict=True, reason="SentencePiece 0.2.3 salts its generator anew in every process, whatever seed it is given"
)
def test_a_restarted_process_samples_the_same_subwords(tmp_path: Path) -> None:
    model = write_bundle(tmp_path / "bundle") / "shared.spm"
    runs = [
        subprocess.run([sys.executable, "-c", PROGRAM, str(model)], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert runs[0] == runs[1]
