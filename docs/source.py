"""Pages that read the paper or the API beside the code: places and sources of functions, put into templates.

    [[model/attention.py:plain_attention]]      becomes  `model/attention.py`, line 44
    {{model/attention.py:plain_attention}}      becomes  its source, as a block of code

A method is CLASS.METHOD. A name that does not exist stops the build, so that no page can point at nothing.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path


def with_code(template: str, package: Path, place: str = "`{}`, line {}") -> str:
    """The template with its places, said as `place` does, and its sources filled in.

    Raises:
        ValueError: If a file or a name in it does not exist.
    """
    text = re.sub(
        r"\[\[([\w/.]+):([\w.]+)\]\]", lambda m: place.format(m[1], _find(package, *m.groups()).lineno), template
    )
    return re.sub(r"\{\{([\w/.]+):([\w.]+)\}\}", lambda m: _block(package, *m.groups()), text)


def _block(package: Path, file: str, name: str) -> str:
    node = _find(package, file, name)
    source = (package / file).read_text(encoding="utf-8").split("\n")[node.lineno - 1 : node.end_lineno]
    indent = len(source[0]) - len(source[0].lstrip())
    body = "\n".join(line[indent:] for line in source)
    return f'```python title="{file}"\n{body}\n```'


def _find(package: Path, file: str, name: str) -> ast.FunctionDef | ast.ClassDef:
    path = package / file
    if not path.is_file():
        raise ValueError(f"a page points at {file}, which does not exist")
    node: ast.AST = ast.parse(path.read_text(encoding="utf-8"))
    for part in name.split("."):
        inner = [n for n in ast.iter_child_nodes(node) if getattr(n, "name", None) == part]
        if not inner:
            raise ValueError(f"a page points at {name} in {file}, which has none")
        node = inner[0]
    assert isinstance(node, ast.FunctionDef | ast.ClassDef)
    return node
