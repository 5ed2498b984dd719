"""Where an Iceberg source stands: the lines that are parsed, in the order in which they are. The rest: laws."""

from __future__ import annotations

import pytest

from ckpttool.scene.iceberg import Line, Stand
from tests.unit.laws.inputs.lake import offset

BEGAN = Line("sources/0/offsets/0", offset(1, 0))
ONE, TWO, BAD = Line("offsets/0", offset(1)), Line("offsets/1", offset(2)), Line("offsets/1", "{}")


@pytest.mark.parametrize(
    ("stand", "lines"),
    [
        (Stand("0"), ()),
        (Stand("0", BEGAN), ()),
        (Stand("0", BEGAN, ONE), (ONE,)),
        (Stand("0", BEGAN, ONE, TWO), (ONE, TWO)),
        (Stand("0", BEGAN, None, TWO), (TWO,)),
        (Stand("0", BEGAN, ONE, Line("offsets/1", ONE.text)), ()),
        (Stand("0", BEGAN, ONE, None, reads=False), ()),
    ],
)
def test_parsed_is_what_the_batch_is_planned_from(stand: Stand, lines: tuple[Line, ...]) -> None:
    assert stand.lines == lines
    assert stand.is_readable


@pytest.mark.parametrize("stand", [Stand("0", BEGAN, BAD), Stand("0", BEGAN, ONE, BAD)])
def test_one_line_that_cannot_be_parsed_is_enough(stand: Stand) -> None:
    assert BAD.offset is None
    assert not stand.is_readable


def test_a_line_that_is_not_parsed_harms_nothing() -> None:
    assert Stand("0", BEGAN, BAD, Line("offsets/2", BAD.text)).is_readable
    assert Stand("0", BAD, ONE).is_readable
