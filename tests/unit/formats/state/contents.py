"""Contents of state files, made by hand."""

from __future__ import annotations

import random
from typing import Any

from tests import state_builders as made
from tests.state_builders import lz4, plain
from tests.unsafe_rows import row, schema


def some(count: int, key_sizes: tuple[int, ...] = (16,), deletes: int = 0, seed: int = 1) -> list[made.Record]:
    dice = random.Random(seed)
    puts: list[made.Record] = [(dice.randbytes(dice.choice(key_sizes)), dice.randbytes(24)) for _ in range(count)]
    return puts + [(dice.randbytes(16), None) for _ in range(deletes)]


def numbered(count: int, **more: Any) -> bytes:
    key, value = schema(("k", "long")), schema(("n", "long"))
    rows = plain(((row(key, (number,)), row(value, (number,))) for number in range(count)), **more)
    return lz4(rows, block=1000)
