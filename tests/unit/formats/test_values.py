"""Fields of a JSON object: there with their type, or the file is malformed and says where."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ckpttool.errors import MalformedFile
from ckpttool.formats.values import Fields, decode_utf8

OF = Fields({"text": "a", "long": 2**40, "flag": True, "half": "\ud800", "none": None, "object": {"n": 1}}, line=3)


def test_fields_of_their_type() -> None:
    assert (OF.text("text"), OF.long("long"), OF.boolean("flag"), OF.object("object").int32("n")) == (
        "a",
        2**40,
        True,
        1,
    )


@pytest.mark.parametrize(
    "read",
    [
        lambda: OF.text("long"),
        lambda: OF.text("missing"),
        lambda: OF.text("half"),
        lambda: OF.long("flag"),
        lambda: OF.int32("long"),
        lambda: OF.boolean("text"),
        lambda: OF.object("text"),
        lambda: OF.objects("object"),
        lambda: OF.texts("text"),
    ],
)
def test_another_type_is_malformed_at_its_line(read: Callable[[], Any]) -> None:
    with pytest.raises(MalformedFile) as malformed:
        read()
    assert malformed.value.position
    assert malformed.value.position.line == 3


def test_a_byte_that_is_no_utf8_is_placed_in_the_file() -> None:
    assert decode_utf8(b"\xff\xfeabc", 2) == "abc"
    with pytest.raises(MalformedFile) as malformed:
        decode_utf8(b"ab\xff", 1)
    assert malformed.value.position
    assert malformed.value.position.byte == 2
