"""`yiwen prepare`: raw text to a cleaned, tokenised store, with a report."""

from __future__ import annotations

from yiwen.cli.options import AsJson, RecipeName, Settings


def prepare(recipe: RecipeName, settings: Settings = None, as_json: AsJson = False) -> None:
    """Clean and tokenise a recipe's text; say what was dropped."""
    from rich.console import Console

    from yiwen.data.report import print_report
    from yiwen.recipe import load_recipe
    from yiwen.runs import prepare_recipe
    from yiwen.stop import stop_on_signals

    with stop_on_signals() as stop:
        prepared = prepare_recipe(load_recipe(recipe, settings or ()), stop=stop, progress=True)
    console = Console(stderr=as_json)
    print_report(prepared.report, console)
    console.print(f"{'already ' * prepared.reused}prepared: {prepared.folder}", soft_wrap=True, markup=False)
    if as_json:
        print(prepared.report.to_json())
