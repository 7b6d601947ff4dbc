"""An exported model as an Argos package, which Argos Translate and LibreTranslate install and run.

A zip: NAME/metadata.json, NAME/model/ (the CTranslate2 folder), NAME/sentencepiece.model (one for both languages),
NAME/README.md. Read from argostranslate 1.11, `package.py` and `translate.py`. It brings no sentence splitter: Argos
takes its own. Its search has rules of its own, too (beam 4, length penalty 0.2).
"""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Final

from yiwen.bundle import EXPORTED, Bundle, require_translator
from yiwen.engines.exported import card_of, check_origin
from yiwen.errors import ConfigError
from yiwen.files import require_place, verify_manifest, write_bytes
from yiwen.text.languages import canonical, name_of
from yiwen.text.subword import subword_paths

_CODES: Final = {"zh-Hans": "zh", "zh-Hant": "zt"}
"""What Argos calls these."""
_NOT_FOR_ARGOS: Final = ("export.json", "manifest.json", "vmap.txt")


def package_argos(bundle: Bundle, output: Path | None = None) -> Path:
    """Write a package.

    Args:
        bundle: A bundle with an exported engine.
        output: Where; `translate-SRC_TGT-1_0.argosmodel` here if not given, if none is there.

    Returns:
        Where it is.

    Raises:
        CheckpointError: If the bundle is no translator, or the exported engine is damaged or of another model.
        ConfigError: If there is none, each language has subwords of its own, or a package that was not named is there.
    """
    require_translator(bundle)
    exported = bundle.folder / EXPORTED
    if not exported.is_dir():
        raise ConfigError(f"{bundle.folder} holds no exported engine; make one: yiwen export {bundle.folder}")
    src_model, tgt_model = subword_paths(bundle.folder)
    if src_model != tgt_model:
        why = "has subwords of its own for each language, and a package holds one model for both"
        raise ConfigError(f"{bundle.folder} {why}; train with tokenizer.shared = true")
    verify_manifest(exported)
    check_origin(bundle)
    src_lang, tgt_lang = canonical(bundle.info.src_lang), canonical(bundle.info.tgt_lang)
    src, tgt = _CODES.get(src_lang, src_lang), _CODES.get(tgt_lang, tgt_lang)
    name = f"translate-{src}_{tgt}-1_0"
    path = output or Path(f"{name}.argosmodel")
    if output is None and path.exists():
        raise ConfigError(f"{path} exists already, maybe of another model; to replace it, give it by --output")
    require_place(path, name="--output")
    metadata = {"package_version": "1.0", "argos_version": "1.9"}
    metadata |= {"from_code": src, "from_name": name_of(src_lang)[0], "to_code": tgt, "to_name": name_of(tgt_lang)[0]}
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:

        def add(inside: str, content: bytes) -> None:
            entry = zipfile.ZipInfo(f"{name}/{inside}")  # without a clock: equal bundles give equal packages
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)

        add("metadata.json", json.dumps(metadata, indent=2).encode())
        add("sentencepiece.model", src_model.read_bytes())
        add("README.md", card_of(bundle))
        for file in sorted(exported.iterdir()):
            if file.name not in _NOT_FOR_ARGOS:
                add(f"model/{file.name}", file.read_bytes())
    write_bytes(path, packed.getvalue())
    return path
