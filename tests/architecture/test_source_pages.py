"""Pages that show code: their places and sources come from the code, formulas become MathML."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.fixture
def package(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_text('"""A."""\n\n\nclass B:\n    def c(self):\n        return 1\n', encoding="utf-8")
    return tmp_path


def test_places_and_sources_are_filled_in(package: Path) -> None:
    found = module("source").with_code("see [[a.py:B.c]]\n\n{{a.py:B.c}}", package)
    assert found == 'see `a.py`, line 5\n\n```python title="a.py"\ndef c(self):\n    return 1\n```'


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("[[b.py:B]]", "a page points at b.py, which does not exist"),
        ("{{a.py:D}}", "points at D in a.py, which has none"),
    ],
)
def test_a_page_that_points_at_nothing_is_refused(template: str, message: str, package: Path) -> None:
    with pytest.raises(ValueError, match=message):
        module("source").with_code(template, package)


def test_formulas_become_mathml_and_code_stays() -> None:
    pytest.importorskip("latex2mathml", reason="needs yiwen[docs]")
    found = module("hooks").on_page_markdown("$$x^2$$ and `$HOME` and $d_k$\n```bash\necho $PATH $USER\n```\n")
    assert found.count("<math") == 2
    # On a phone a long formula scrolls by itself, not the page with it; no formula scrolls up and down.
    assert re.search('<div style="overflow: auto hidden[^"]*"><math[^>]* display="block"', found)
    assert "`$HOME`" in found
    assert "echo $PATH $USER" in found
