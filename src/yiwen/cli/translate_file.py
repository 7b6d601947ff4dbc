"""`yiwen translate-file`: a document in, the same document in another language out."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from yiwen.cli import options


def translate_file(
    input_file: Annotated[Path, typer.Argument(metavar="IN", help="The document; its suffix says its format.")],
    output_file: Annotated[Path, typer.Argument(metavar="OUT", help="Where to write the translation.")],
    model: Annotated[Path, typer.Option("--model", help="Folder of a model, or of a run: its best model.")],
    beam_size: options.BeamSize = None,
    length_penalty: options.Penalty = None,
    tgt_lang: options.TargetLanguage = "",
    glossary_file: options.GlossaryFile = None,
    engine: options.Engine = "auto",
    device: options.Device = "auto",
    dtype: options.DType = "auto",
    threads: options.Threads = 0,
) -> None:
    """Translate a document, its structure kept.

    Text, Markdown, HTML, SubRip and WebVTT, Word, PowerPoint, Excel, OpenDocument,
    EPUB, PO, XLIFF, TMX, JSON, CSV and TSV. Formatting, placeholders, times,
    encoding and line ends stay as they are.
    """
    from rich.progress import Progress

    from yiwen.cli.streams import read_glossary, tell_flags, tell_note
    from yiwen.documents import translate_document
    from yiwen.errors import ConfigError, DataError, naming
    from yiwen.files import require_place, write_bytes
    from yiwen.translator import Translator

    if not input_file.is_file():
        raise DataError(f"{input_file} is not a file; give an existing document")
    glossary = None if glossary_file is None else read_glossary(glossary_file)
    require_place(output_file, name="OUT", read=(input_file, glossary_file or input_file))
    if input_file.suffix.lower() != output_file.suffix.lower():
        raise ConfigError(f"{output_file} must end in {input_file.suffix!r}: a document keeps its format")
    translator = Translator.load(model, engine=engine, device=device, dtype=dtype, threads=threads, tgt_lang=tgt_lang)
    tell_note(translator.note)
    search = translator.bundle.info.search.changed(beam_size=beam_size, length_penalty=length_penalty)
    translate = partial(translator.translate, search=search, glossary=glossary, by_sentence=True, with_scores=False)
    flags: Counter[str] = Counter()
    with (
        options.stoppable() as (stop, console),
        Progress(console=console, transient=True, disable=not console.is_terminal) as bar,
        naming(str(input_file)),
    ):
        task = bar.add_task("translating", total=1.0)
        content = translate_document(
            input_file.read_bytes(),
            suffix=input_file.suffix,
            translate=partial(translate, stop=stop),
            align=partial(translator.align, stop=stop),
            src_lang=translator.src_lang,
            tgt_lang=translator.tgt_lang,
            progress=lambda share: bar.update(task, completed=share),
            flag=flags.update,
        )
        write_bytes(output_file, content)  # still inside: a stop now would leave a half behind
    tell_flags(flags, unit="texts")
