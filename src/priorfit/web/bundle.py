"""Many small modules of JavaScript as one short script: a page from ``file://`` may load no modules.

The modules are put behind each other into one scope, without comments and spaces, and their variables get short names:
those at the top of a module one of their own, all others one that is used in every module again. Modules keep to a few
forms: ``import {a, b} from "./file.js"``, and ``export`` before ``function``, ``class`` or ``const``.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping
from itertools import count, product
from pathlib import Path
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits

from priorfit.web.tokens import WORD, Token, tokens_of, words

IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]+)"\n', re.MULTILINE)
TOP = re.compile(
    rf"^(?:export )?(?:async )?(?:function\*? |class |const |let )(?:({WORD})|\[([^\]]*)\]|\{{([^}}]*)\}})",
    re.MULTILINE,
)
GLOBALS = frozenset(
    re.findall(
        r"\w+",
        """
    Array ArrayBuffer BigInt Boolean DataView Error Float64Array ImageData Infinity Int32Array JSON Map Math NaN
    Number Object Promise ResizeObserver Set String TextDecoder URLSearchParams Uint8Array WeakMap
    addEventListener atob clearTimeout devicePixelRatio document getComputedStyle globalThis history isFinite
    location matchMedia navigator parseInt performance setTimeout
    """,
    )
)
"""Names that are not ours: a word that is missing here would be given a short name, and the tests would see it."""

NO_BREAK_AFTER = frozenset("{([,;=+-*/<>&|?:") | {"=>", "&&", "||", "??", "===", "!=="}
NO_BREAK_BEFORE = frozenset("})],?:.=*&|<>") | {"=>", "&&", "||", "??", "?.", "===", "!==", "instanceof", ""}


def bundled(folder: Path, start: str) -> str:
    """The modules that ``start`` needs, each behind those that it imports, as one script."""
    code = {name: (folder / name).read_text(encoding="utf-8") for name in ordered(folder, start)}
    tops = top_names(code)
    return '"use strict";' + "".join(shortened(module, tops[name]) for name, module in code.items())


def ordered(folder: Path, start: str) -> list[str]:
    """The names of all modules that one needs, itself the last; a cycle of imports is an error of ours.

    >>> ordered(Path(__file__).with_name("js"), "numbers/sha256.js")
    ['numbers/sha256.js']
    """
    done: dict[str, None] = {}

    def visit(name: str, above: tuple[str, ...]) -> None:
        assert name not in above, f"modules import each other: {' -> '.join((*above, name))}"
        if name not in done:
            for needed, _ in imports(name, (folder / name).read_text(encoding="utf-8")):
                visit(needed, (*above, name))
            done[name] = None

    visit(start, ())
    return list(done)


def imports(name: str, code: str) -> Iterator[tuple[str, list[str]]]:
    """The modules that one imports, with the names that it takes from them."""
    for match in IMPORT.finditer(code):
        source = posixpath.normpath(posixpath.join(posixpath.dirname(name), match[2]))
        yield source, [word.strip() for word in match[1].split(",") if word.strip()]


def top_names(code: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """For each module the short names of what is declared at its top, and of what it imports."""
    short = (first + rest for rest in _numerals() for first in ascii_uppercase)
    found = dict[str, dict[str, str]]()
    for name, module in code.items():
        own = [
            word for match in TOP.finditer(module) for part in match.groups() for word in re.findall(WORD, part or "")
        ]
        found[name] = dict(zip(own, short, strict=False))
        for source, taken in imports(name, module):
            found[name] |= {word: found[source][word] for word in taken}
    return found


def _numerals() -> Iterator[str]:
    return (digit + more for more in ("", *digits) for digit in digits)


def shortened(code: str, tops: Mapping[str, str]) -> str:
    """A module without imports and exports, comments and spaces, its variables by short names.

    >>> shortened("export const whole = (part) => part.size * 2 // twice\\n", {"whole": "A0"})
    'const A0=(a)=>a.size*2;\\n'
    """
    tokens = tokens_of(re.sub(r"^export ", "", IMPORT.sub("", code), flags=re.MULTILINE))
    counted = dict[str, int]()
    for token in words(tokens):
        if token.text not in tops and token.text not in GLOBALS:
            counted[token.text] = counted.get(token.text, 0) + 1
    most_frequent = sorted(counted, key=lambda word: (-counted[word], word))
    names = dict(zip(most_frequent, _short_names(), strict=False)) | dict(tops)
    for token in words(tokens):
        short = names.get(token.text, token.text)
        token.text = f"{token.text}:{short}" if token.role == "shorthand" and short != token.text else short
    return joined(tokens)


def _short_names() -> Iterator[str]:
    """Names of lower-case letters, the shortest first, but for words of the language."""
    reserved = {"do", "if", "in", "of", "as", "get", "let", "new", "for", "try", "var", "set"}
    for length in count(1):
        for letters in product(ascii_lowercase, repeat=length):
            if "".join(letters) not in reserved:
                yield "".join(letters)


def joined(tokens: list[Token]) -> str:
    """The tokens with the spaces that they need; a line ends only where a statement may."""
    shown, space = list[str](), ""
    for token in tokens:
        if token.kind == "space":
            space = "\n" if "\n" in token.text or space == "\n" else " "
        elif token.text:
            before = shown[-1] if shown else ""
            shown += [_gap(before, token.text, space), token.text]
            space = ""
    return "".join(shown) + ";\n"


def _gap(before: str, after: str, space: str) -> str:
    if space == "\n" and before and before not in NO_BREAK_AFTER and after not in NO_BREAK_BEFORE:
        return "\n"
    is_word = ascii_letters + digits + "_$"
    needs = before and before[-1] in is_word and after[0] in is_word
    return " " if space and (needs or (before[-1:] in ("+", "-") and before[-1:] == after[0])) else ""
