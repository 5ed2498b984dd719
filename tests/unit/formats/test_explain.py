"""How printed plans are cut into nodes, and their lists into items."""

from __future__ import annotations

import pytest

from ckpttool.errors import MalformedFile
from ckpttool.formats.explain import alias, below, column, is_cut, looks_explained, parse_explain, parse_list

JOIN = """== Physical Plan ==
Join Inner, (a#1 = b#2)
:- *(1) Project [a#1]
:  +- StreamingRelation one, [a#1]
+- ~StreamingRelation two, [b#2]
"""


def test_a_tree_is_its_lines_with_the_end_of_what_is_below_each() -> None:
    (explained,) = parse_explain(JOIN)
    tree = explained.physical
    assert [(node.name, node.depth, node.end) for node in tree] == [
        ("Join", 0, 4), ("Project", 1, 3), ("StreamingRelation", 2, 3), ("StreamingRelation", 1, 4)]  # fmt: skip
    assert list(below(tree, 0)) == [1, 3]
    assert tree[1].text == "[a#1]"
    assert explained.analysed is None


def test_the_formatted_mode_has_what_nodes_were_given_behind_the_tree() -> None:
    text = """== Physical Plan ==
HashAggregate (2)
+- StreamingRelation (1)


(1) StreamingRelation
Output [1]: [k#1]
Arguments: kafka, [k#1]

(2) HashAggregate
Keys [1]: [k#1]
Functions [1]: [count(1)]
"""
    (explained,) = parse_explain(text)
    assert [node.text for node in explained.physical] == ["(keys=[k#1], functions=[count(1)])", "kafka, [k#1]"]


def test_a_line_without_a_fork_belongs_to_the_node_before_it() -> None:
    (explained,) = parse_explain("== Physical Plan ==\nFilter (k#1 = a\nb)\n+- X\n\nother text\n")
    assert [node.text for node in explained.physical] == ["(k#1 = a\nb)", ""]


@pytest.mark.parametrize("text", ["a == Physical Plan ==", "== Some Plan ==", ""])
def test_other_text_is_not_taken_for_a_plan(text: str) -> None:
    assert not looks_explained(text)
    with pytest.raises(MalformedFile, match="no plan"):
        parse_explain(text)


def test_lists_have_items_and_an_end() -> None:
    assert parse_list("[a, f(b, c), [d, e]], rest") == (["a", "f(b, c)", "[d, e]"], 20)
    assert parse_list("[]") == ([], 2)
    for unreadable in ("a", "[a", "[a)]", "[(a]"):
        assert parse_list(unreadable) is None


def test_columns_and_aliases_are_told_apart() -> None:
    assert column("c#1#22L-T10ms") == ("c#1", "22")
    assert column("upper(k#1)") is None
    assert alias("sum(cast(v#1 as int)) AS sum(CAST(v AS INT))#3L") == (
        "sum(cast(v#1 as int))", "sum(CAST(v AS INT))", "3")  # fmt: skip
    assert alias("f(x AS y)") is None


def test_what_spark_left_out_shows() -> None:
    assert is_cut(parse_explain("== Physical Plan ==\nProject [a#1, ... 16 more fields]\n")[0].physical)
    assert not is_cut(parse_explain(JOIN)[0].physical)
