"""Where the records of a state file lie, all at once: for files of plain records that are decompressed as a whole.

Three ways, the fastest that fits. Records of one size lie at equal distances. Else the file is cut into lanes, which
are walked side by side: a lane begins at a place from which a few steps look like records, and every lane must end
exactly where the next one begins. The first begins at the first record, so if all joints fit, every step was a record,
whatever the guesses were made from. If they do not fit, or the file is short, a loop walks it.
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct

from ckpttool.formats.limits import most

Numbers = Any  # an array of numpy
Plain = bytes | bytearray | memoryview

END = b"\xff\xff\xff\xff"
_INT32 = struct.Struct(">i")
_LANES = 2048
_WORTH_LANES_BYTES = 2**20
_HOPS = 3  # that must look like records, where a lane may begin
_SAMPLE = 256  # records from the beginning, whose sizes are those that records have
_MOST_TIMES = 4  # as many records as entries may be held: their numbers take less
_WORD = 8  # rows are of whole words, and so are records
_ALIGNED = _WORD // 4  # records begin at multiples of so many sizes
_LARGEST_SIZE = 2**16  # of keys and values, up to which sizes are looked up in a table


class Frames(NamedTuple):
    """Of each record: where its key begins, the size of the key, and that of the value: -1 where it deletes the key.
    The value begins four bytes after the key ends."""

    keys: Numbers
    key_sizes: Numbers
    value_sizes: Numbers


class Rows(Struct, frozen=True):
    """Rows in a buffer, which is longer than they need: where each begins, and its size."""

    data: memoryview
    starts: Numbers
    sizes: Numbers

    def word(self, at: int) -> Numbers:
        """The word `at` of every row, as integers."""
        words: Numbers = np.ndarray((len(self.data) - 7,), "<i8", self.data, strides=(1,))
        return words[self.starts + _WORD * at]

    def word_or_zero(self, at: int) -> Numbers:
        """The same; zero of rows that are shorter."""
        found = self.word(at)
        found[self.sizes <= _WORD * at] = 0
        return found


def frame(plain: Plain) -> Frames | None:
    """None if this is not what a file of records is; whoever reads it record by record will say why."""
    if plain == END:
        nothing = np.empty(0, np.int64)
        return Frames(nothing, nothing, nothing)
    return frame_of_one_size(plain) or frame_by_lanes(plain) or frame_by_steps(plain)


def frame_of_one_size(plain: Plain) -> Frames | None:
    if len(plain) < 12:
        return None
    (key_size,) = _INT32.unpack_from(plain, 0)
    at = 4 + key_size
    if key_size < 0 or at + 4 > len(plain):
        return None
    (value_size,) = _INT32.unpack_from(plain, at)
    stride = at + 4 + value_size
    if value_size < 0 or (len(plain) - 4) % stride or plain[-4:] != END:
        return None
    count = (len(plain) - 4) // stride
    if count > _MOST_TIMES * most("entries"):
        return None
    for place, size in ((0, key_size), (at, value_size)):
        if (np.ndarray((count,), ">i4", plain, place, (stride,)) != size).any():
            return None
    keys = np.arange(count, dtype=np.int64) * stride + 4
    return Frames(keys, np.full(count, key_size, np.int64), np.full(count, value_size, np.int64))


def frame_by_steps(plain: Plain) -> Frames | None:
    keys: list[int] = []
    key_sizes: list[int] = []
    value_sizes: list[int] = []
    unpack, last = _INT32.unpack_from, len(plain) - 4
    at = 0
    while at <= last:
        (key_size,) = unpack(plain, at)
        if key_size < 0:
            ends = key_size == -1
            return Frames(*(np.array(one, np.int64) for one in (keys, key_sizes, value_sizes))) if ends else None
        value_at = at + 4 + key_size
        if value_at > last:
            return None
        (value_size,) = unpack(plain, value_at)
        keys.append(at + 4)
        key_sizes.append(key_size)
        value_sizes.append(max(value_size, -1))
        at = value_at + 4 + max(value_size, 0)
        if len(keys) > _MOST_TIMES * most("entries"):
            break
    return None


# -- lanes -------------------------------------------------------------------------------------------------------------


def frame_by_lanes(plain: Plain, lanes: int = _LANES) -> Frames | None:
    end = len(plain) - 4
    if end < _WORTH_LANES_BYTES or end % _WORD or plain[-4:] != END:
        return None
    walk = _Walk(np.frombuffer(plain, np.int32), end // 4)
    if not walk.learn(plain):
        return None
    places = np.unique(np.linspace(0, walk.end, lanes, endpoint=False, dtype=np.int64) // _ALIGNED * _ALIGNED)
    starts = walk.beginnings(places)
    if starts is None:
        return None
    goals = np.append(starts[1:], walk.end)
    return walk.by_keys(starts, goals) or walk.by_both(starts, goals)


class _Walk:
    """Steps from record to record, many at a time. Places count words of four bytes, which is what sizes are in."""

    def __init__(self, words: Numbers, end: int) -> None:
        self.words = words
        self.end = end
        # By size: whether it occurs. The last one stands for all that are larger, the first value for deletes.
        self.key_sizes: Numbers = np.zeros(0, bool)
        self.value_sizes: Numbers = np.zeros(0, bool)

    def sizes(self, at: Numbers) -> Numbers:
        """What stands there, if it is a size: with the highest byte first."""
        return self.words.take(at, mode="clip").byteswap(inplace=True)

    def learn(self, plain: Plain) -> bool:
        """The sizes that occur among the first records."""
        keys, values = set(), set()
        at = 0
        for _ in range(_SAMPLE):
            if at >= self.end:
                break
            (key_size,) = _INT32.unpack_from(plain, 4 * at)
            value_at = at + 1 + key_size // 4
            if key_size < 0 or key_size % _WORD or value_at >= self.end:
                return False
            (value_size,) = _INT32.unpack_from(plain, 4 * value_at)
            if value_size > 0 and value_size % _WORD:
                return False
            keys.add(key_size)
            values.add(max(value_size, -1) + 1)
            at = value_at + 1 + max(value_size, 0) // 4
        if max(keys | values) > _LARGEST_SIZE:
            return False
        self.key_sizes, self.value_sizes = _table(keys), _table(values)
        return True

    def beginnings(self, places: Numbers) -> Numbers | None:
        """From each place on, the first from which some hops look like records; the first place is one."""
        found = places.copy()
        searching = np.arange(1, len(places))
        farthest = 4 * (len(self.key_sizes) + len(self.value_sizes)) + 4096
        for _ in range(farthest // _WORD):
            searching = searching[~self._look_like_records(found[searching])]
            if not len(searching):
                return np.unique(found[found < self.end])
            found[searching] += _ALIGNED
        return None

    def _look_like_records(self, places: Numbers) -> Numbers:
        """At the end of the file there is nothing to find fault with."""
        good = np.ones(len(places), bool)
        left, at = np.arange(len(places)), places
        for _ in range(_HOPS):
            inside = at < self.end
            left, at = left[inside], at[inside]
            keys = self.sizes(at)
            value_at = at + 1 + (keys >> 2)
            values = np.maximum(self.sizes(value_at), -1)
            following = value_at + 1 + (np.maximum(values, 0) >> 2)
            fits = self.key_sizes.take(keys, mode="clip") & self.value_sizes.take(values + 1, mode="clip")
            fits &= (keys >= 0) & (following <= self.end)
            good[left[~fits]] = False
            left, at = left[fits], following[fits]
        return good

    def by_keys(self, starts: Numbers, goals: Numbers) -> Frames | None:
        """All lanes to their ends, as if all values had the one size that the first ones have: then the sizes of keys
        alone tell the way, and those of values are looked at afterwards."""
        if self.value_sizes[:-1].sum() != 1 or self.value_sizes[0]:
            return None
        value_size = len(self.value_sizes) - 3
        beside = 2 + value_size // 4
        at, steps, bits = starts, [], np.zeros(len(starts), np.uint32)
        while (going := at < goals).any():
            steps.append(at)
            if len(steps) * len(at) > _MOST_TIMES * most("entries"):
                return None
            keys = self.sizes(at).view(np.uint32)  # what is below zero leads far beyond the goal
            np.bitwise_or(bits, keys, out=bits, where=going)
            at = at + (keys >> 2) + beside
        places = _joined([*steps, at], goals)
        if places is None or (bits & _WORD - 1).any():
            return None
        keys = np.diff(places, append=self.end) - beside
        if (self.sizes(places + 1 + keys) != value_size).any():
            return None
        return Frames(places * 4 + 4, keys * 4, np.full(len(places), value_size))

    def by_both(self, starts: Numbers, goals: Numbers) -> Frames | None:
        """All lanes to their ends, by the sizes of keys and values."""
        at, steps = starts, []
        while (at < goals).any():
            steps.append(at)
            if len(steps) * len(at) > _MOST_TIMES * most("entries"):
                return None
            value_at = at + 1 + (self.sizes(at).view(np.uint32) >> 2)
            at = value_at + 1 + (np.maximum(self.sizes(value_at), 0) >> 2)
        places = _joined([*steps, at], goals)
        if places is None:
            return None
        keys = self.sizes(places)
        values = np.maximum(self.sizes(places + 1 + (keys >> 2)), -1)
        if (keys < 0).any() or ((keys | np.maximum(values, 0)) & _WORD - 1).any():
            return None
        return Frames(places * 4 + 4, keys, values)


def _joined(steps: list[Numbers], goals: Numbers) -> Numbers | None:
    """The places that the steps came by, lane by lane up to its goal; None if a lane misses it. Those that have come to
    their goals walk on until the last one has."""
    places = np.stack(steps, axis=1)
    before = places < goals[:, None]
    if (places[np.arange(len(goals)), before.sum(axis=1)] != goals).any():
        return None
    return places[before]


def _table(sizes: set[int]) -> Numbers:
    table = np.zeros(max(sizes) + 2, bool)
    table[list(sizes)] = True
    return table
