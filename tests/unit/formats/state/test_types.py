"""Types as schemas write them: nested, but not without end."""

from __future__ import annotations

import pytest

from ckpttool.errors import MalformedFile
from ckpttool.formats.state.types import DEEPEST, parse_type
from tests.unsafe_rows import array_of


def test_a_schema_nested_without_end_is_refused() -> None:
    kind: object = "long"
    for _ in range(DEEPEST + 2):
        kind = array_of(kind)
    with pytest.raises(MalformedFile, match="nested too deeply"):
        parse_type(kind)
