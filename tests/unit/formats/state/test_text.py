"""Texts of rows, decoded as Java decodes them."""

from __future__ import annotations

import pytest

from ckpttool.formats.state.text import java_text


@pytest.mark.parametrize(
    ("raw", "mistakes"),
    [(b"\xed\xa0\x80", 1), (b"\xed\xa0", 1), (b"\xed\xa0a", 1), (b"\xc0\xaf", 2), (b"\xf0\x90\x8d", 1), (b"\xff", 1)],
)
def test_texts_that_are_no_utf8_are_decoded_as_java_does(raw: bytes, mistakes: int) -> None:
    assert java_text(b"x" + raw) == "x" + "\ufffd" * mistakes + ("a" if raw.endswith(b"a") else "")
