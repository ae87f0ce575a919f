"""Names, roles and contrast in the files of the page; what axe-core asks about in a browser is in `test_axe.py`."""

import re
from pathlib import Path

import pytest

from priorfit.web.export import HERE

STYLE, PAGE = ((HERE / name).read_text(encoding="utf-8") for name in ("page.css", "page.html"))
TEXT = ("ink", "quiet", "warning")


def palettes() -> dict[str, dict[str, str]]:
    light, dark = (
        dict(re.findall(r"--([\w-]+): (#\w{6})", part)) for part in STYLE.split("prefers-color-scheme: dark")
    )
    return {"light": light, "dark": light | dark}


def luminance(colour: str) -> float:
    channels = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG 2.

    >>> contrast("#000000", "#ffffff")
    21.0
    """
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_lines_stand_out(scheme: str) -> None:
    colours = palettes()[scheme]
    for name in TEXT:
        assert contrast(colours[name], colours["page"]) >= 4.5, name
    assert contrast(colours["warning"], colours["warned"]) >= 4.5
    assert contrast(colours["on-accent"], colours["accent"]) >= 4.5
    assert contrast(colours["ink"], colours["control"]) >= 4.5
    for name in ("network", "exact", "functions", "point"):
        assert contrast(colours[name], colours["surface"]) >= 3, name
    for label in range(2):
        assert contrast(colours[f"class{label}"], colours["surface"]) >= 3, label


def test_every_control_has_a_name() -> None:
    for tag, attributes in re.findall(r"<(select|input|textarea|canvas|section)\b([^>]*)>", PAGE):
        (name,) = re.findall(r'id="([\w-]+)"', attributes) or [""]
        is_labelled = "aria-label=" in attributes or f'for="{name}"' in PAGE or name == "picture"  # named by the script
        is_inside = re.search(rf"<label[^>]*>[^<]*<{tag}{re.escape(attributes)}>", PAGE) is not None
        assert is_labelled or is_inside, (tag, attributes)
    assert not re.findall(r"<button[^>]*></button>", PAGE)


def test_the_page_has_a_language_a_title_landmarks_and_live_regions() -> None:
    assert '<html lang="en">' in PAGE and "<title>" in PAGE and "<main>" in PAGE and "<header>" in PAGE
    assert PAGE.count("<h1>") == 1 and "user-scalable" not in PAGE and "maximum-scale" not in PAGE
    assert 'role="status"' in PAGE and 'role="alert"' in PAGE and 'aria-live="polite"' in PAGE
    identifiers = re.findall(r'\bid="([\w-]+)"', PAGE)
    assert len(identifiers) == len(set(identifiers))


def test_motion_is_only_for_those_who_want_it() -> None:
    moving = [part for part in re.split(r"@media", STYLE) if re.search(r"\b(?:transition|animation):", part)]
    assert all(part.lstrip().startswith("(prefers-reduced-motion: no-preference)") for part in moving)


def test_each_word_of_the_script_that_names_an_element_is_in_the_page() -> None:
    script = "".join(file.read_text(encoding="utf-8") for file in Path(HERE / "js").rglob("*.js"))
    named = set(re.findall(r'\bat\("([\w-]+)"\)', script))
    assert named and named <= set(re.findall(r'\bid="([\w-]+)"', PAGE))
