"""How Sphinx builds the site: `make docs`, warnings are errors."""

import sys
from importlib.metadata import version as version_of
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "extensions"))

project = "priorfit"
version = release = version_of("priorfit")
project_copyright = "the authors of priorfit"
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "model_cards",
    "room",
    "static_page",
]
exclude_patterns = ["_build", "README.md"]

html_theme = "furo"
html_title = "priorfit"

myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]

default_role = "code"  # `PFN` in a docstring is code
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_member_order = "bysource"
autodoc_default_options = {
    "exclude-members": "set_fit_request, set_predict_request, set_score_request"
}  # scikit-learn's
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
