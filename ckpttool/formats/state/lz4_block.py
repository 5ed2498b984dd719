"""One block of LZ4, decompressed by Python: for those so small that to ask the jail would cost more.

Copies of what is there already, in turn with bytes of its own: <https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md>.
"""

from __future__ import annotations

_MORE = 15  # a length that goes on in further bytes
_SHORTEST_COPY = 4


def decompressed(block: bytes, size: int) -> bytes | None:
    """The contents, of this size; None of a block that is damaged."""
    plain = bytearray()
    at = 0
    try:
        while len(plain) <= size:
            token = block[at]
            own, at = _length(block, at + 1, token >> 4)
            plain += block[at : at + own]
            at += own
            if at >= len(block):
                return bytes(plain) if at == len(block) and len(plain) == size else None
            back = block[at] | block[at + 1] << 8
            copied, at = _length(block, at + 2, token & _MORE)
            copied += _SHORTEST_COPY
            start = len(plain) - back
            if start < 0 or back == 0 or copied > size:
                return None
            # What is copied may overlap with where it goes to: then it repeats itself.
            plain += (
                plain[start : start + copied] if back >= copied else (plain[start:] * (copied // back + 1))[:copied]
            )
    except IndexError:
        return None
    return None


def _length(block: bytes, at: int, length: int) -> tuple[int, int]:
    """The length, and where it ends."""
    if length < _MORE:
        return length, at
    while True:
        length += block[at]
        at += 1
        if block[at - 1] != 0xFF:
            return length, at
