"""A partition of an HDFS-backed store all at once: the newest record of each key, of a snapshot and deltas.

A snapshot has each key once, so it is never hashed as a whole: the keys of the deltas are, which are few, and those of
the snapshot are looked up among them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ckpttool.state.columns import MOST_BYTES, PADDING, Rows, binaries
from ckpttool.state.framing import Frames, frame

Numbers = Any  # an array of numpy

_WORD = 8


def newest_records(base: bytes | None, changes: Iterable[bytes]) -> tuple[Rows, Rows] | None:
    """Keys and values, from uncompressed files; None if something about them is not as it should be."""
    has_base = base is not None
    files = [*([base] if base is not None else []), *changes]
    del base  # large, and not needed beside the whole
    frames = [frame(plain) for plain in files]
    if any(one is None for one in frames) or sum(map(len, files)) > MOST_BYTES:
        return None
    begins = np.cumsum([0, *map(len, files)])
    data = b"".join([*files, PADDING])
    files.clear()
    parts = [one._replace(keys=one.keys + begin) for one, begin in zip(frames, begins, strict=False) if one]
    if any((one.value_sizes > 0).any() and (one.value_sizes % _WORD > 0)[one.value_sizes > 0].any() for one in parts):
        return None  # values with something more around their rows
    snapshot = parts.pop(0) if has_base else None
    kept = _newest(data, snapshot, parts)
    keys = Rows(data, kept.keys, kept.key_sizes)
    return keys, Rows(data, kept.keys + kept.key_sizes + 4, kept.value_sizes)


def _newest(data: bytes, snapshot: Frames | None, deltas: list[Frames]) -> Frames:
    changed = (
        Frames(*(np.concatenate([np.empty(0, np.int64), *parts]) for parts in zip(*deltas, strict=True)))
        if (deltas)
        else None
    )
    if changed is None or not len(changed.keys):
        return snapshot if snapshot is not None else Frames(*(np.empty(0, np.int64),) * 3)
    is_word = all(_is_one_word(data, one) for one in (changed, snapshot) if one is not None and len(one.keys))
    hashed = _hashable(data, changed, is_word)
    last = _last_of_each(hashed)
    newest = Frames(*(one[last] for one in changed))
    alive = Frames(*(one[newest.value_sizes >= 0] for one in newest))
    if snapshot is None or not len(snapshot.keys):
        return alive
    replaced = pc.is_in(_hashable(data, snapshot, is_word), value_set=hashed.take(pa.array(last)))
    kept = ~np.asarray(replaced)
    return Frames(*(np.concatenate([old[kept], new]) for old, new in zip(snapshot, alive, strict=True)))


def _is_one_word(data: bytes, frames: Frames) -> bool:
    """Whether all keys are a row of one field that is a word and not null: then the word says all."""
    if (frames.key_sizes != 2 * _WORD).any():
        return False
    return not Rows(data, frames.keys, frames.key_sizes).word(0).any()


def _hashable(data: bytes, frames: Frames, is_word: bool) -> pa.Array:
    """Keys as something that Arrow hashes, the faster if it is a number."""
    rows = Rows(data, frames.keys, frames.key_sizes)
    return pa.array(rows.word(1)) if is_word else binaries(rows)


def _last_of_each(hashed: pa.Array) -> Numbers:
    """Where each distinct key stands last, in order."""
    encoded = hashed.dictionary_encode()
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    last = np.empty(len(encoded.dictionary), np.int64)
    last[codes] = np.arange(len(codes))
    return np.sort(last)
