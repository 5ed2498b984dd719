"""Lines of a log: in whatever pieces they come, compressed or not, and however long they are."""

from __future__ import annotations

import gzip
import tracemalloc
from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from ckpttool.logs.lines import LONGEST, ReadSoFar, lines_of

TEXT = "one\r\ntwo ä\n\nfour"
LINES = ["one", "two ä", "", "four"]


def read(*pieces: bytes) -> list[str]:
    return list(lines_of(pieces, ReadSoFar()))


@given(st.integers(1, 8))
def test_lines_are_the_same_in_whatever_pieces_they_come(size: int) -> None:
    for body in (TEXT.encode(), gzip.compress(TEXT.encode()), TEXT.encode("utf-16")):
        whole = body[:3]  # by which it is recognised
        rest = [body[at : at + size] for at in range(3, len(body), size)]
        assert read(whole, *rest) == LINES


def test_logs_that_were_rolled_over_and_put_together_are_one() -> None:
    assert read(gzip.compress(b"one\ntw") + gzip.compress(b"o\nthree\n")) == ["one", "two", "three"]


def test_what_is_cut_off_or_no_gzip_is_read_as_far_as_it_goes() -> None:
    body = gzip.compress(b"one\ntwo\n" * 10_000)
    so_far = ReadSoFar()
    assert next(iter(lines_of([body[: len(body) // 2]], so_far))) == "one"
    assert list(lines_of([gzip.compress(b"one\n") + b"garbage"], so_far)) == ["one"]
    assert so_far.cut == "what follows is no gzip"


def test_bytes_that_are_no_text_stop_nothing() -> None:
    assert read(b"one\xff\n\x00two") == ["one\ufffd", "\x00two"]


def test_of_a_long_line_its_beginning_is_kept() -> None:
    long, short = read(*[b"x" * LONGEST] * 3, b"\nshort\n")
    assert (len(long), short) == (LONGEST, "short")


def test_memory_does_not_grow_with_the_log() -> None:
    def packed() -> Iterator[bytes]:
        body = gzip.compress(b"line of a log that is longer than others\n" * 100_000)
        yield from [body] * 20

    tracemalloc.start()
    so_far = ReadSoFar()
    for _ in lines_of(packed(), so_far):
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert so_far.lines == 2_000_000
    assert peak < 40 * 2**20
