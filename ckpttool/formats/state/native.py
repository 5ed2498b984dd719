"""The door to the decompressors, which are native code: whoever opens files has them work in `ckpttool.jail`."""

from __future__ import annotations

TYPE_CHECKING = False  # the child of the jail loads this, and little else

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Buffer = bytes | memoryview
    Unpack = Callable[[str, Sequence[Buffer], Sequence[int], memoryview | None], Sequence[memoryview]]


def unpack_here(
    codec: str, blocks: Sequence[Buffer], sizes: Sequence[int], place: memoryview | None = None
) -> list[memoryview]:
    """What each block becomes, up to the first that cannot be decompressed. `sizes`: what they become at most.
    `place`: where they are put, one after the other; memory that was written to before is there at once."""
    import cramjam

    into = {"lz4": cramjam.lz4.decompress_block_into, "snappy": cramjam.snappy.decompress_raw_into}.get(codec)
    whole = sum(sizes)
    if place is None:
        place = memoryview(bytearray(whole))
    plain: list[memoryview] = []
    at = 0
    try:
        for block, size in zip(blocks, sizes, strict=True):
            here = place[at : at + size]
            written = into(block, here) if into else cramjam.zstd.decompress_into(block, here)
            plain.append(here[:written])
            at += size
    except cramjam.DecompressionError:
        pass
    return plain


_unpack: Unpack = unpack_here


def unpack(
    codec: str, blocks: Sequence[Buffer], sizes: Sequence[int], place: memoryview | None = None
) -> Sequence[memoryview]:
    return _unpack(codec, blocks, sizes, place)


def hand_over(to: Unpack) -> None:
    """From now on blocks are unpacked so."""
    global _unpack
    _unpack = to
