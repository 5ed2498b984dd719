"""A partition of an HDFS-backed store all at once: the newest record of each key, of a snapshot and deltas.

All records write where they stand into a table, at the place that the hash of their key says; the last one of each
place is left. Who finds a record of its own key there is superseded by it, or is it itself; who finds another key's
tries again with the few that are left. Equal hashes are not yet equal keys: those are compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ckpttool.state.contents import File, contents
from ckpttool.state.framing import Frames, Rows, frame

Numbers = Any  # an array of numpy

_WORD = 8
_LONGEST_KEY = 1024  # bytes; longer ones are few, and cost more to hash here than elsewhere
_TRIES = 16
_AT_ONCE = 2**13  # keys
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


def newest_records(files: Sequence[File], has_base: bool) -> tuple[Rows, Rows] | None:
    """Keys and values; None if something about the files is not as it should be. `has_base`: the first is a snapshot,
    which has each key once."""
    found = contents(files)
    if found is None:
        return None
    data, begins = found
    frames = [frame(data[begin:end]) for begin, end in pairwise(begins)]
    if any(one is None for one in frames) or (has_base and frames[0] and (frames[0].value_sizes < 0).any()):
        return None
    parts = [one._replace(keys=one.keys + begin) for one, begin in zip(frames, begins, strict=False) if one]
    records = Frames(*map(np.concatenate, zip(*parts, strict=True))) if len(parts) > 1 else parts[0]
    if (np.maximum(records.value_sizes, 0) % _WORD).any():
        return None  # values with something more around their rows
    if not (has_base and len(files) == 1):
        newest = _newest(Rows(data, records.keys, records.key_sizes))
        if newest is None:
            return None
        newest = np.flatnonzero(newest & (records.value_sizes >= 0))
        records = Frames(*(one.take(newest) for one in records))
    keys = Rows(data, records.keys, records.key_sizes)
    return keys, Rows(data, records.keys + records.key_sizes + 4, records.value_sizes)


def _newest(keys: Rows) -> Numbers | None:
    """Whether each is the last of its key."""
    count = len(keys.starts)
    newest = np.ones(count, bool)
    hashes = _hashes(keys)
    if hashes is None:
        return None
    left = np.arange(count, dtype=np.int32)
    for _ in range(_TRIES):
        if not len(left):
            return newest
        found = _last_at_its_place(hashes)
        is_same = hashes.take(found) == hashes
        superseded = np.flatnonzero(is_same & (found != np.arange(len(left), dtype=np.int32)))
        if not _are_equal(keys, left.take(superseded), left.take(found.take(superseded))):
            return None
        newest[left.take(superseded)] = False
        others = np.flatnonzero(~is_same)
        left, hashes = left.take(others), hashes.take(others) * _FACTOR
        hashes ^= hashes >> _HALF
    return None


def _last_at_its_place(hashes: Numbers) -> Numbers:
    """For each the last one whose hash begins with the same bits."""
    bits = max(len(hashes).bit_length() + 1, 4)
    places = ((hashes * _FACTOR) >> np.uint64(64 - bits)).astype(np.intp)
    table = np.empty(1 << bits, np.int32)
    table[places] = np.arange(len(hashes), dtype=np.int32)  # of several at a place, the last one stays
    return table.take(places)


def _hashes(keys: Rows) -> Numbers | None:
    longest = int(keys.sizes.max(initial=0))
    if longest > _LONGEST_KEY or (keys.sizes % _WORD).any():
        return None
    hashes = keys.sizes.astype(np.uint64)
    for part in _parts(len(hashes)):
        own = hashes[part]
        for word in _words(_some(keys, part)):
            own ^= word.view(np.uint64)
            own *= _FACTOR
            own ^= own >> _HALF
    return hashes


def _are_equal(keys: Rows, some: Numbers, others: Numbers) -> bool:
    """Whether each of some keys is the same as its other."""
    for part in _parts(len(some)):
        one, other = _some(keys, some[part]), _some(keys, others[part])
        if (one.sizes != other.sizes).any():
            return False
        if not all((ours == theirs).all() for ours, theirs in zip(_words(one), _words(other), strict=True)):
            return False
    return True


def _parts(count: int) -> Iterator[slice]:
    """So many that what their first words brought to the processor is still there for the next."""
    return (slice(start, start + _AT_ONCE) for start in range(0, count, _AT_ONCE))


def _some(keys: Rows, which: Numbers | slice) -> Rows:
    return Rows(keys.data, keys.starts[which], keys.sizes[which])


def _words(keys: Rows) -> Iterator[Numbers]:
    """Word by word, up to the end of the longest."""
    shortest, longest = int(keys.sizes.min(initial=_LONGEST_KEY)), int(keys.sizes.max(initial=0))
    for at in range(longest // _WORD):
        yield keys.word(at) if shortest > _WORD * at else keys.word_or_zero(at)
