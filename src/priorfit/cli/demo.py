"""``priorfit demo [MODEL]``."""

import warnings
from typing import Annotated

import typer

from priorfit.cli.arguments import MODEL, PriorPlace, prior_at
from priorfit.cli.terminal import answers, leaving_at_once, say
from priorfit.errors import OutsideTrainingWarning


def demo(
    model: Annotated[str | None, MODEL] = None,
    host: Annotated[
        str, typer.Option(help="Where to listen; 0.0.0.0 shows the page to the whole network.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; 0 for any that is free.", min=0, max=65535)] = 5006,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
    prior: PriorPlace = None,
) -> None:
    """Open a live page: drag points, and see a network's posterior beside the exact one."""
    say("Starting the demo: loading torch and the models ...")  # at once: that takes seconds
    with leaving_at_once():
        from priorfit.web.answers import PythonAnswers
        from priorfit.web.demonstration import demonstration, shown_models
        from priorfit.web.server import PageServer, open_browser, serve

    def started(address: str) -> None:
        answers.print(f"The page is at {address} (Ctrl-C stops it)", highlight=False, soft_wrap=True)
        if browser:
            open_browser(address)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OutsideTrainingWarning)  # the page says it itself
        models = shown_models(model, None if prior is None else prior_at(prior))
        asked = PythonAnswers(models)
        serve(PageServer(demonstration(models, asked), asked, host, port), started)
