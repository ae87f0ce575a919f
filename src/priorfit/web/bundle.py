"""Many small modules of JavaScript as one short script: a page from ``file://`` may load no modules.

The modules are put behind each other into one scope, without comments and spaces, and their variables get short names:
those at the top of a module one of their own, all others one that is used in every function again; so do members
that only our own code knows. Modules keep to a few forms: ``import {a, b} from "./file.js"``, and ``export`` before
``function``, ``class`` or ``const``.
"""

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import chain, count, product
from pathlib import Path
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits

from priorfit.web.tokens import WORD, Token, sections, tokens_of, words

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
    addEventListener atob clearTimeout devicePixelRatio document fetch getComputedStyle globalThis history isFinite
    location matchMedia navigator parseInt performance setTimeout
    """,
    )
)
"""Names that are not ours: a word that is missing here would be given a short name, and the tests would see it."""

ALIASED = ("Float64Array", "Math", "Object", "Array", "Number", "document")
"""Names that are not ours and stand so often in the modules that a short name for them pays."""

MEMBER = re.compile(r"_[a-z]\w+|[a-z][a-z\d]*[A-Z]\w*")
"""Members of our own objects: with an underscore before, or a capital inside, which no name in a model's files has."""

BROWSERS = frozenset(
    re.findall(
        r"\w+",
        """
    activeElement addEventListener altKey arrayBuffer beginPath byteLength byteOffset charCodeAt classList className
    clearRect clientHeight clientWidth clientX clientY closePath createElement createReader ctrlKey dataTransfer
    devicePixelRatio documentElement drawImage fillRect fillStyle fillText flatMap forEach fromEntries getAll getAsFile
    getAsFileSystemHandle getBigUint64 getBoundingClientRect getContext getElementById getFile getFloat32 getFloat64
    getInt32 getPropertyValue getUint16 globalAlpha hasOwn imageSmoothingQuality indexOf isDirectory isFile isFinite
    isInteger isNaN lineJoin lineTo lineWidth localeCompare metaKey moveTo padStart pointerId preventDefault
    putImageData querySelector querySelectorAll readEntries relatedTarget replaceAll replaceChildren replaceState
    setAttribute setLineDash setPointerCapture setTransform setUint16 setUint32 shiftKey startsWith strokeStyle
    textAlign textBaseline textContent toFixed toPrecision toString webkitGetAsEntry webkitRelativePath writeText
    """,
    )
)
"""Members that are not ours: one that is missing here would be given a short name, and the tests would see it."""

TESTED = frozenset({"isBusy", "isUntrained", "logProb", "pointTo", "startFrom", "xRange", "yRange"})
"""Members of the page that the tests in a browser, and the curious, ask for by name."""

NO_BREAK_AFTER = frozenset("{([,;=+-*/<>&|?:") | {"=>", "&&", "||", "??", "===", "!=="}
NO_BREAK_BEFORE = frozenset("})],?:.=*&|<>") | {"=>", "&&", "||", "??", "?.", "===", "!==", "instanceof", ""}


@cache
def bundled(folder: Path, start: str) -> str:
    """The modules that ``start`` needs, each behind those that it imports, as one script; it is put together once."""
    code = {name: (folder / name).read_text(encoding="utf-8") for name in ordered(folder, start)}
    short = (first + rest for rest in digits + ascii_letters for first in ascii_uppercase)
    aliases = dict(zip(ALIASED, short, strict=False))
    tops, members = top_names(code, short), member_names(code.values())
    named = ",".join(f"{alias}={word}" for word, alias in aliases.items())
    modules = (shortened(module, tops[name] | aliases, members) for name, module in code.items())
    return f'"use strict";let {named};' + "".join(modules)


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


def top_names(code: Mapping[str, str], short: Iterator[str]) -> dict[str, dict[str, str]]:
    """For each module the short names of what is declared at its top, and of what it imports."""
    found = dict[str, dict[str, str]]()
    for name, module in code.items():
        own = [
            word for match in TOP.finditer(module) for part in match.groups() for word in re.findall(WORD, part or "")
        ]
        found[name] = dict(zip(own, short, strict=False))
        for source, taken in imports(name, module):
            found[name] |= {word: found[source][word] for word in taken}
    return found


def member_names(code: Iterable[str]) -> dict[str, str]:
    """Short names of the members that only our own code knows, the same in all modules."""
    counted = Counter(
        token.text
        for module in code
        for token in tokens_of(IMPORT.sub("", module))
        if token.kind == "word" and token.role != "variable" and MEMBER.fullmatch(token.text)
    )
    own = [word for word, _ in counted.most_common() if word not in BROWSERS | TESTED]
    return {word: f"_{short}" for word, short in zip(own, _short_names(), strict=False)}


def shortened(code: str, tops: Mapping[str, str], members: Mapping[str, str]) -> str:
    """A module without imports and exports, comments and spaces, its variables and members by short names.

    >>> shortened("export const whole = (part) => part.ownSize * 2 // twice\\n", {"whole": "A0"}, {"ownSize": "_a"})
    'let A0=a=>a._a*2;\\n'
    """
    tokens = tokens_of(re.sub(r"^export ", "", IMPORT.sub("", code), flags=re.MULTILINE))
    for section in sections(tokens):
        rename(list(words(section)), tops, members)
    for token in tokens:
        if token.kind == "word" and token.role == "other":
            token.text = "let" if token.text == "const" else members.get(token.text, token.text)
        elif token.kind == "number":
            token.text = re.sub(r"^0\.(?=\d)", ".", token.text)
    return re.sub(r"(?<![\w$])\(([\w$]+)\)=>", r"\1=>", joined(tokens))


def rename(variables: list[Token], tops: Mapping[str, str], members: Mapping[str, str]) -> None:
    """Give the variables of one section of a module their short names, the shortest to the most frequent."""
    counted = dict[str, int]()
    for token in variables:
        if token.text not in tops and token.text not in GLOBALS:
            counted[token.text] = counted.get(token.text, 0) + 1
    most_frequent = sorted(counted, key=lambda word: (-counted[word], word))
    names = dict(zip(most_frequent, _short_names(), strict=False)) | dict(tops)
    for token in variables:
        short = names.get(token.text, token.text)
        key = members.get(token.text, token.text)
        token.text = f"{key}:{short}" if token.role == "shorthand" and short != key else short


def _short_names() -> Iterator[str]:
    """Names of letters, the shortest first, but for words of the language; no two of them begin with a capital."""
    reserved = {"do", "if", "in", "of", "as", "get", "let", "new", "for", "try", "var", "set"}
    longer = chain.from_iterable(product(ascii_lowercase, repeat=length) for length in count(2))
    yield from (*ascii_letters, "$")
    yield from (name for name in map("".join, longer) if name not in reserved)


def joined(tokens: list[Token]) -> str:
    """The tokens with the spaces that they need; a line ends only where a statement may."""
    shown, space = list[str](), ""
    starts = [""]  # for each open bracket, the first word of the statement
    for token in tokens:
        if token.kind == "space" or not token.text:
            space = "\n" if "\n" in token.text or space == "\n" else " " if token.text else space
            continue
        before = shown[-1] if shown else ""
        gap, text, space = _gap(before, token.text, space), token.text, ""
        if gap == "\n" or before in ("{", ";", ""):
            if gap == "\n" and text == starts[-1] == "let":  # let a = 1, b = 2
                gap, text = "", ","
            starts[-1] = token.text
        if token.kind == "sign" and text in "{[(":
            starts.append("")
        elif token.kind == "sign" and text in "}])":
            starts.pop()
        shown += [gap, text]
    return "".join(shown) + ";\n"


def _gap(before: str, after: str, space: str) -> str:
    if space == "\n" and before and before not in NO_BREAK_AFTER and after not in NO_BREAK_BEFORE:
        return "\n"
    is_word = ascii_letters + digits + "_$"
    needs = before and before[-1] in is_word and after[0] in is_word
    return " " if space and (needs or (before[-1:] in ("+", "-") and before[-1:] == after[0])) else ""
