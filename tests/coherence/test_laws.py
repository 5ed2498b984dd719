"""Every law, over every sample and every recorded restart; the misses are those of `misses.json`, and no others."""

from __future__ import annotations

import pytest

from tests.coherence.laws import LAWS
from tests.coherence.misses import KINDS, known, known_of, misses
from tests.coherence.places import SAMPLES

NAMES = [law.__name__ for law in LAWS]
SOME = {SAMPLES: 1, "3.5.7": 12, "4.2.0": 12}


def hold_but_for_the_known(law: str, kind: str, every: int) -> None:
    seen, broken = misses(kind, every)
    assert broken[law].keys() - known_of(law, kind) == set(), broken[law]
    mended = (set(seen) & known_of(law, kind)) - broken[law].keys()
    assert mended == set(), "they hold by now: run `python -m tests.coherence.misses`"


@pytest.mark.parametrize("kind", SOME)
@pytest.mark.parametrize("law", NAMES)
def test_the_law_holds_but_for_known_misses(law: str, kind: str) -> None:
    hold_but_for_the_known(law, kind, SOME[kind])


@pytest.mark.at_length
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("law", NAMES)
def test_the_law_holds_at_length_but_for_known_misses(law: str, kind: str) -> None:
    hold_but_for_the_known(law, kind, 1)


def test_every_known_miss_is_one_of_a_law_and_of_a_place() -> None:
    assert known().keys() <= set(NAMES)
    assert {kind for kinds in known().values() for kind in kinds} <= set(KINDS)
