"""Where the records of a state file lie, all at once: for files of plain records that are decompressed as a whole.

Three ways, the fastest that fits. Records of one size lie at equal distances. Else the file is cut into lanes, which
are walked side by side: a lane begins at a place from which a few steps look like records, and every lane must end
exactly where the next one begins. The first begins at the first record, so if all joints fit, every step was a record,
whatever the guesses were made from. If they do not fit, or the file is short, a loop walks it.
"""

from __future__ import annotations

from struct import Struct
from typing import Any, NamedTuple

import numpy as np

Numbers = Any  # an array of numpy

END = b"\xff\xff\xff\xff"
_INT32 = Struct(">i")
_LANES = 4096
_WORTH_LANES_BYTES = 2**20
_HOPS = 3  # that must look like records, where a lane may begin
_SAMPLE = 256  # records from the beginning, whose sizes are those that records have
_WORD = 8  # rows are of whole words, and so are records


class Frames(NamedTuple):
    """Of each record: where its key begins, the size of the key, and that of the value: -1 where it deletes the key.
    The value begins four bytes after the key ends."""

    keys: Numbers
    key_sizes: Numbers
    value_sizes: Numbers


def frame(plain: bytes) -> Frames | None:
    """None if this is not what a file of records is; whoever reads it record by record will say why."""
    if plain == END:
        nothing = np.empty(0, np.int64)
        return Frames(nothing, nothing, nothing)
    return frame_of_one_size(plain) or frame_by_lanes(plain) or frame_by_steps(plain)


def frame_of_one_size(plain: bytes) -> Frames | None:
    if len(plain) < 12:
        return None
    (key_size,) = _INT32.unpack_from(plain, 0)
    at = 4 + key_size
    if key_size < 0 or at + 4 > len(plain):
        return None
    (value_size,) = _INT32.unpack_from(plain, at)
    stride = at + 4 + value_size
    if value_size < 0 or (len(plain) - 4) % stride or not plain.endswith(END):
        return None
    records = np.frombuffer(plain, np.uint8, len(plain) - 4).reshape(-1, stride)
    if (records[:, :4] != records[0, :4]).any() or (records[:, at : at + 4] != records[0, at : at + 4]).any():
        return None
    count = len(records)
    keys = np.arange(count, dtype=np.int64) * stride + 4
    return Frames(keys, np.full(count, key_size, np.int64), np.full(count, value_size, np.int64))


def frame_by_steps(plain: bytes) -> Frames | None:
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
    return None


# -- lanes -------------------------------------------------------------------------------------------------------------


def frame_by_lanes(plain: bytes, lanes: int = _LANES) -> Frames | None:
    end = len(plain) - 4
    if end < _WORTH_LANES_BYTES or end % _WORD or not plain.endswith(END):
        return None
    words = np.frombuffer(plain, ">i4")
    walk = _Walk(words, end)
    if not walk.learn():
        return None
    places = np.unique(np.linspace(0, end, lanes, endpoint=False, dtype=np.int64) // _WORD * _WORD)
    starts = walk.beginnings(places)
    if starts is None:
        return None
    goals = np.append(starts[1:], end)
    return walk.to(starts, goals)


class _Walk:
    """Steps from record to record, many at a time. Places are in bytes; sizes are read as words of four."""

    def __init__(self, words: Numbers, end: int) -> None:
        self.words = words
        self.end = end
        self.key_sizes: Numbers = np.empty(0)
        self.value_sizes: Numbers = np.empty(0)

    def learn(self) -> bool:
        """The sizes that occur among the first records."""
        keys, values = set(), set()
        at = 0
        for _ in range(_SAMPLE):
            if at >= self.end:
                break
            key_size = int(self.words[at // 4])
            value_at = at + 4 + key_size
            if key_size < 0 or key_size % _WORD or value_at >= self.end:
                return False
            value_size = int(self.words[value_at // 4])
            if value_size > 0 and value_size % _WORD:
                return False
            keys.add(key_size)
            values.add(max(value_size, -1))
            at = value_at + 4 + max(value_size, 0)
        self.key_sizes, self.value_sizes = (np.array(sorted(one)) for one in (keys, values))
        return True

    def beginnings(self, places: Numbers) -> Numbers | None:
        """From each place on, the first from which some hops look like records; the first place is one."""
        found = places.copy()
        searching = np.arange(1, len(places))
        farthest = 4 * (int(self.key_sizes.max()) + max(int(self.value_sizes.max()), 0)) + 4096
        for _ in range(farthest // _WORD):
            good = self._look_like_records(found[searching])
            searching = searching[~good]
            if not len(searching):
                return np.unique(found[found < self.end])
            found[searching] += _WORD
        return None

    def _look_like_records(self, places: Numbers) -> Numbers:
        good = np.ones(len(places), bool)
        at = places.copy()
        for _ in range(_HOPS):
            inside = at < self.end
            keys, values, following = self._records(np.where(inside, at, 0))
            fits = np.isin(keys, self.key_sizes) & np.isin(values, self.value_sizes) & (following <= self.end)
            good &= fits | ~inside
            at = np.where(fits & inside, following, at)
        return good & (places <= self.end)

    def _records(self, at: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """Sizes of key and value of what would be a record at each place, and where the next would begin."""
        keys = self.words[at // 4].astype(np.int64)
        value_at = at + 4 + keys
        inside = (keys >= 0) & (value_at < self.end) & (keys % _WORD == 0)
        values = self.words[np.where(inside, value_at, 0) // 4].astype(np.int64)
        values = np.where(inside, np.maximum(values, -1), -2)
        return keys, values, value_at + 4 + np.maximum(values, 0)

    def to(self, starts: Numbers, goals: Numbers) -> Frames | None:
        """All lanes to their ends; None if one does not end where the next begins."""
        at, lane = starts.copy(), np.arange(len(starts))
        steps = []
        while len(lane):
            keys = self.words.take(at >> 2, mode="clip").astype(np.int64)
            value_at = at + 4 + keys
            values = np.maximum(self.words.take(value_at >> 2, mode="clip"), -1).astype(np.int64)
            sizes = np.maximum(values, 0)
            following = value_at + 4 + sizes
            goal = goals[lane]
            if keys.min() < 0 or ((keys | sizes) & _WORD - 1).any() or (following > goal).any():
                return None
            steps.append((at, keys, values))
            going = following < goal
            at, lane = following[going], lane[going]
        places, keys, values = (np.concatenate(parts) for parts in zip(*steps, strict=True))
        order = np.argsort(places)
        return Frames(places[order] + 4, keys[order], values[order])
