"""What `explain` prints of a query: trees of logical and physical nodes, a node a line.

Writers: `QueryExecution.explainString`, in its modes simple, extended, formatted and cost; `StreamingQuery.explain`.
A tree is kept as its lines, each before those below it. The formatted mode has what a node was given in blocks behind
the tree; it is put where the other modes have it. Names of columns, literals and values of options are printed as they
are, so brackets may be anybody's: what cannot be read as Spark writes it is None.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ckpttool.errors import MalformedFile
from ckpttool.formats.plan_text import REFERENCE

_EXPECTED = "what explain(True), explain() or explain('formatted') prints of a streaming DataFrame, whole"
_PLANS = ("Parsed Logical", "Analyzed Logical", "Optimized Logical", "Physical")  # in the order of Spark
_HEADING = re.compile(rf"^== ({'|'.join(_PLANS)}) Plan ==\s*$", re.MULTILINE)
_LINE = re.compile(
    r"(?P<indent>(?:[ :]  )*)(?P<fork>[+:]- )?(?:\*(?:\(\d+\))? )?[!'~]*(?P<name>\w+)(?P<text>.*)", re.DOTALL
)
_NUMBERED = re.compile(r"(?:^| )\((\d+)\)$")
_BLOCK = re.compile(r"^\((\d+)\) \w+")
_FIELD = re.compile(r"^(Arguments|Keys|Functions|Output|Condition ?)(?: \[\d+\])?: (.*)$")
_CUT = re.compile(r"\.\.\. \d+ more (?:fields|characters)")
_CLOSES = {"(": ")", "[": "]", "{": "}"}


class Node(Struct, frozen=True):
    """`line`: as it is printed; `text`: what stands behind the name; `end`: the first node that is not below it."""

    name: str
    text: str
    line: str
    depth: int
    end: int = 0


Tree = tuple[Node, ...]


class Explained(Struct, frozen=True):
    """Of one query. The short modes have no analysed plan."""

    physical: Tree
    analysed: Tree | None = None


def looks_explained(text: str) -> bool:
    return _HEADING.search(text) is not None


def parse_explain(text: str) -> tuple[Explained, ...]:
    """One for each query that is printed. Raises MalformedFile."""
    found: list[dict[str, str]] = []
    headings = [*_HEADING.finditer(text)]
    ends = [*(following.start() for following in headings[1:]), len(text)]
    for heading, end in zip(headings, ends, strict=False):
        if not found or any(_PLANS.index(heading[1]) <= _PLANS.index(before) for before in found[-1]):
            found.append({})
        found[-1][heading[1]] = text[heading.end() + 1 : end]
    if not found:
        raise MalformedFile("there is no plan in it", expected=_EXPECTED)
    return tuple(map(_explained, found))


def _explained(plans: dict[str, str]) -> Explained:
    if "Physical" not in plans:
        raise MalformedFile("there is no physical plan: the text was cut short", expected=_EXPECTED)
    lines = plans["Physical"].split("\n")
    physical = _parse_tree(lines)
    if physical and all(_NUMBERED.search(node.text) for node in physical):
        physical = _with_blocks(physical, lines)
    analysed = plans.get("Analyzed Logical")
    return Explained(physical, _parse_tree(_without_schema(analysed.split("\n"))) if analysed else None)


def _without_schema(lines: list[str]) -> list[str]:
    """An analysed plan has its columns in the first line, unless it gives out none."""
    begins = len(lines) < 2 or not lines[1].strip() or lines[1].startswith(("+- ", ":- "))
    return lines if begins else lines[1:]


def _parse_tree(lines: Sequence[str]) -> Tree:
    """Up to the first line without anything. A literal or an option may go over several lines."""
    found: list[list[str]] = []
    for line in lines:
        if not line.strip():
            break
        match = _LINE.fullmatch(line)
        if match and bool(found) == bool(match["fork"]):
            found.append([])
        elif not found:
            raise MalformedFile("a plan does not begin with a node", expected=_EXPECTED)
        found[-1].append(line)
    return _ended([_node("\n".join(lines)) for lines in found])


def _node(lines: str) -> Node:
    match = _LINE.fullmatch(lines)
    assert match
    depth = len(match["indent"]) // 3 + 1 if match["fork"] else 0
    return Node(match["name"], match["text"].strip(), lines, depth)


def _ended(nodes: Sequence[Node]) -> Tree:
    ends, above = [len(nodes)] * len(nodes), list[int]()
    for number, node in enumerate(nodes):
        while above and nodes[above[-1]].depth >= node.depth:
            ends[above.pop()] = number
        if node.depth != len(above):
            raise MalformedFile("a plan has a line that is below no other", expected=_EXPECTED)
        above.append(number)
    return tuple(replace(node, end=end) for node, end in zip(nodes, ends, strict=True))


def _with_blocks(tree: Tree, lines: Sequence[str]) -> Tree:
    blocks: dict[str, dict[str, str]] = {}
    block: dict[str, str] = {}
    for line in lines:
        if match := _BLOCK.match(line):
            block = blocks.setdefault(match[1], {})
        elif match := _FIELD.match(line):
            block.setdefault(match[1].strip(), match[2])
    return tuple(replace(node, text=_told(node.name, blocks.get(_number(node), {}))) for node in tree)


def _number(node: Node) -> str:
    match = _NUMBERED.search(node.text)
    return match[1] if match else ""


def _told(name: str, block: dict[str, str]) -> str:
    """As the other modes print it."""
    if name.endswith("Aggregate"):
        return f"(keys={block.get('Keys', '[]')}, functions={block.get('Functions', '[]')})"
    return block.get("Arguments") or block.get("Condition") or block.get("Output") or ""


# -- what nodes are given ----------------------------------------------------------------------------------------------


def is_cut(tree: Tree) -> bool:
    """Spark prints the first 25 of what a node has, unless it is told otherwise."""
    return any(_CUT.search(node.text) for node in tree)


def below(tree: Tree, number: int) -> Iterator[int]:
    """The nodes right below one."""
    at = number + 1
    while at < tree[number].end:
        yield at
        at = tree[at].end


def parse_list(text: str, at: int = 0) -> tuple[list[str], int] | None:
    """The items of `[a, f(b, c)]`, and where it ends."""
    if text[at : at + 1] != "[":
        return None
    items, begin, open_ = list[str](), at + 1, ["]"]
    for position in range(at + 1, len(text)):
        char = text[position]
        if char in _CLOSES:
            open_.append(_CLOSES[char])
        elif char in ")]}":
            if open_.pop() != char:
                return None
            if not open_:
                items += [text[begin:position]] if position > at + 1 else []
                return items, position + 1
        elif char == "," and len(open_) == 1 and text[position + 1 : position + 2] == " ":
            items.append(text[begin:position])
            begin = position + 2
    return None


def parse_lists(text: str) -> list[list[str]] | None:
    """Of `[a, b], [c], …` those that stand first."""
    found = []
    at = 0
    while text.startswith("[", at):
        one = parse_list(text, at)
        if one is None:
            return None
        found.append(one[0])
        at = one[1] + (2 if text.startswith(", ", one[1]) else 0)
    return found


def column(text: str) -> tuple[str, str] | None:
    """Name and number of `id#0L`."""
    *_, last = [None, *REFERENCE.finditer(text)]
    return (text[: last.start()], last[1]) if last and last.end() == len(text) else None


def alias(text: str) -> tuple[str, str, str] | None:
    """Of `upper(k#1) AS name#2`: what it was computed from, its name, its number."""
    depth = 0
    for match in re.finditer(r"[(\[{]|[)\]}]| AS ", text):
        if match[0] == " AS " and depth == 0:
            named = column(text[match.end() :])
            return (text[: match.start()], *named) if named else None
        depth += (match[0] in _CLOSES) - (match[0] in ")]}")
    return None
