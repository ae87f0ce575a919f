"""The page as one file: style, script and the models' weights written into it."""

import base64
import hashlib
import json
import re
import string
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from priorfit.checkpoint import write_atomically
from priorfit.errors import InputError
from priorfit.network import Model
from priorfit.paths import usable_path
from priorfit.web.bundle import bundled
from priorfit.web.support import check_shown

HERE = Path(__file__).parent
PAGE = "index.html"
WEIGHTS = "model.safetensors"
MARK = 'content="default-src'
"""What every page of ours has: another file of its name is never overwritten."""

CONNECTIONS = {"static.js": "", "served.js": "connect-src 'self'; "}
"""For each module that a page may begin with, whom its policy lets it ask: nobody, or its own server."""

KEPT_OF_THE_CARD = ("name", "prior", "trained_context")
"""What the page shows of a model's card; the rest would only make it larger."""


def export_page(models: Mapping[str, Model], folder: str | Path) -> Path:
    """Write a page that shows these models, the first of them first; it needs no server and loads nothing.

    >>> from priorfit import load
    >>> page = export_page({"gp-rbf-1d": load("gp-rbf-1d")}, tempfile.mkdtemp())
    >>> page.name, page.stat().st_size // 100_000
    ('index.html', 4)
    """
    if not models:
        raise InputError("a page needs at least one model; got none.")
    for name, model in models.items():
        check_shown(name, model)
    place = usable_path(folder)
    refuse_what_is_not_ours(place)
    content = page_of([written(name, model) for name, model in models.items()])
    place.mkdir(parents=True, exist_ok=True)
    write_atomically(place / PAGE, content)
    return place / PAGE


def refuse_what_is_not_ours(place: Path) -> None:
    """Refuse a file in the folder's place, and a page there that another program wrote."""
    if place.exists() and not place.is_dir():
        raise InputError(f"{place} is a file; the page is written into a folder. Choose another one.")
    page = place / PAGE
    if page.exists() and MARK not in page.read_text(encoding="utf-8", errors="replace")[:2000]:
        raise InputError(f"{page} exists and is no page of priorfit; nothing was written. Choose another folder.")


def written(name: str, model: Model) -> dict[str, Any]:
    """A model as the page reads it: the files of `Model.save` in float16, the weights as base64."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "model"
        model.save(place, dtype=torch.float16)
        config = json.loads((place / "config.json").read_text(encoding="utf-8"))
        weights = (place / WEIGHTS).read_bytes()
    config["card"] = {key: config["card"][key] for key in KEPT_OF_THE_CARD}
    return {"name": name, "config": config, "weights": base64.b64encode(weights).decode("ascii")}


def page_of(models: list[dict[str, Any]], start: str = "static.js") -> str:
    """The page with these models; ``start`` is the module that it begins with, which asks its own server or nobody."""
    template = string.Template((HERE / "page.html").read_text(encoding="utf-8"))
    style = short_style((HERE / "page.css").read_text(encoding="utf-8"))
    script = bundled(HERE / "js", start)
    data = json.dumps(models, separators=(",", ":")).replace("</", "<\\/")
    return template.substitute(
        policy=policy(style, script, CONNECTIONS[start]), style=style, script=script, models=data
    )


def short_style(style: str) -> str:
    """A style sheet without comments and needless spaces.

    >>> short_style("/* all */ a, b > c { top: 0; left: calc(1px + 2px); }")
    'a,b>c{top:0;left:calc(1px + 2px)}'
    """
    bare = re.sub(r"/\*.*?\*/", "", style, flags=re.DOTALL)
    return re.sub(r";}", "}", re.sub(r"\s*([{};,>])\s*|(?<=:)\s+", r"\1", re.sub(r"\s+", " ", bare))).strip()


def policy(style: str, script: str, connections: str) -> str:
    """The content security policy: nothing may be loaded, from anywhere; one script and one style, by their hashes."""
    return (
        f"default-src 'none'; script-src 'sha256-{digest(script)}'; style-src 'sha256-{digest(style)}'; {connections}"
        "base-uri 'none'; form-action 'none'"
    )


def digest(text: str) -> str:
    """The sha256 of a text in base64, as a policy names it."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
