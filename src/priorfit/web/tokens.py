"""The tokens of our own JavaScript, and which of its names are variables.

This is no parser of all of JavaScript: it knows the forms that ``js/`` is written in, and the tests run what it makes.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Role = Literal["variable", "shorthand", "other"]

WORD = r"[A-Za-z_$][\w$]*"
TOKEN = re.compile(
    rf"""(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<space>\s+)|(?P<string>"(?:[^"\\\n]|\\.)*")|(?P<word>{WORD})"""
    r"""|(?P<number>0x[\dA-Fa-f]+|\d[\d_]*\.?\d*(?:e[+-]?\d+)?)"""
    r"""|(?P<sign>=>|\.\.\.|\?\.|\?\?=?|&&=?|\|\|=?|[=!]==?|<=|>=|>>>?|<<|\+\+|--|\*\*|[-+*/%]=|.)""",
    re.DOTALL,
)
BEFORE_REGEX = frozenset("(,=:[!?{};") | {"&&", "||", "=>", "return"}
BEFORE_BLOCK = frozenset("){};") | {"=>", "else", "try", "finally", "catch"}
KEYWORDS = frozenset(
    re.findall(
        r"\w+",
        """
    await async break case catch class const constructor continue default delete do else extends false finally for
    function get if in instanceof let new null of return static super switch this throw true try typeof undefined
    void while yield
    """,
    )
)


@dataclass
class Token:
    """A piece of the code; ``role`` says whether it is a variable, or a variable that is also the key of an object."""

    text: str
    kind: str
    role: Role = "other"


def tokens_of(code: str) -> list[Token]:
    """The tokens of a module without its comments, with the roles of its words."""
    tokens = list(_read(code, 0, is_template=False)[0])
    _assign_roles([token for token in tokens if token.kind != "space"])
    return tokens


def _read(code: str, at: int, is_template: bool) -> tuple[list[Token], int]:
    """The tokens from a place on; inside of a template up to the brace that ends its expression."""
    found, depth, before = list[Token](), 0, ""
    while at < len(code):
        if is_template and depth == 0 and code[at] == "}":
            break
        if code[at] == "`":
            inner, at = _template(code, at + 1)
            found += inner
            before = "`"
            continue
        if code[at] == "/" and before in BEFORE_REGEX and code[at + 1] not in "/*":
            match = re.compile(r"/(?:\[[^\]]*\]|\\.|[^/\\\n])+/[a-z]*").match(code, at)
            kind = "string"
        else:
            match = TOKEN.match(code, at)
            kind = (match.lastgroup if match else None) or "sign"
        assert match is not None
        at, text = match.end(), match[0]
        depth += (text == "{") - (text == "}")
        if kind != "comment":
            found.append(Token(text, kind))
            before = before if kind == "space" else text
    return found, at


def _template(code: str, at: int) -> tuple[list[Token], int]:
    """The text and the expressions of a template, from behind its first quote to behind its last."""
    found, start = [], at - 1
    while code[at] != "`":
        if code[at] == "\\":
            at += 2
        elif code.startswith("${", at):
            found.append(Token(code[start : at + 2], "string"))
            inner, start = _read(code, at + 2, is_template=True)
            found += [Token("", "open"), *inner, Token("", "close")]
            at = start + 1
        else:
            at += 1
    return [*found, Token(code[start : at + 1], "string")], at + 1


def _assign_roles(tokens: list[Token]) -> None:
    braces = list[str]()
    is_class = False
    for i, token in enumerate(tokens):
        before = tokens[i - 1].text if i else ""
        after = tokens[i + 1].text if i + 1 < len(tokens) else ""
        if token.kind == "open" or token.text in ("(", "["):
            braces.append("(")
        elif token.kind == "sign" and token.text == "{":
            braces.append("class" if is_class else "block" if before in BEFORE_BLOCK else "object")
            is_class = False
        elif token.kind == "close" or (token.kind == "sign" and token.text in (")", "]", "}")):
            braces.pop()
        elif token.kind == "word":
            is_class = is_class or token.text == "class"
            token.role = _role(token.text, before, after, braces[-1] if braces else "")


def _role(word: str, before: str, after: str, brace: str) -> Role:
    if word in KEYWORDS or before in (".", "?.") or brace == "class":
        return "other"
    if brace == "object" and before in ("{", ","):
        return "shorthand" if after in (",", "}", "=") else "other"
    return "variable"


def sections(tokens: list[Token]) -> list[list[Token]]:
    """The tokens of each statement at the top of a module and of each member of a class: no variable is in two.

    Statements at the top begin at the start of a line, members of a class two columns further.
    """
    found, depth, is_class = [list[Token]()], 0, False
    for token in tokens:
        indent = token.text.rpartition("\n")[2] if token.kind == "space" and "\n" in token.text else None
        if (depth, indent) == (0, "") or (is_class and (depth, indent) == (1, "  ")):
            found.append([])
        is_class = (is_class or token.text == "class") if depth == 0 else is_class
        if token.kind == "open" or (token.kind == "sign" and token.text in ("(", "[", "{")):
            depth += 1
        elif token.kind == "close" or (token.kind == "sign" and token.text in (")", "]", "}")):
            depth -= 1
            is_class = is_class and depth > 0
        found[-1].append(token)
    return found


def words(tokens: list[Token]) -> Iterator[Token]:
    """The tokens that are variables, or keys and variables at once."""
    return (token for token in tokens if token.role != "other")
