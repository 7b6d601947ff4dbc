"""`yiwen prepare`: raw text to a cleaned, tokenised store, with a report."""

from __future__ import annotations

from yiwen.cli.options import AsJson, RecipeName, Settings, stoppable


def prepare(recipe: RecipeName, settings: Settings = None, as_json: AsJson = False) -> None:
    """Clean and tokenise a recipe's text; say what was dropped."""
    from yiwen.data.report import print_report
    from yiwen.preparing import prepare_recipe
    from yiwen.recipe import load_recipe

    with stoppable(stderr=as_json) as (stop, console):
        prepared = prepare_recipe(load_recipe(recipe, settings or ()), stop=stop, progress=True)
    print_report(prepared.report, console)
    done = "already prepared" if prepared.reused else "prepared"
    console.print(f"{done}: {prepared.folder}", soft_wrap=True, markup=False)
    if as_json:
        print(prepared.report.to_json())
