"""How the child's messages are put together and taken apart, and that what a library raises is an answer."""

from __future__ import annotations

from ckpttool.jail.cell import COUNT, HALF_BYTES, answer, message, parted, unwritten


def test_an_error_is_an_answer_that_says_what_was_raised() -> None:
    mark, complaint = answer("parquet", [memoryview(b"no Parquet"), memoryview(b"txn")])
    assert bytes(mark) == b"-"
    assert 0 < len(complaint) <= 1000


def test_small_parts_go_through_the_pipe_and_large_ones_through_memory() -> None:
    shared = memoryview(bytearray(HALF_BYTES))
    head, *parts = message(7, [b"a", b"bc"], shared)
    assert (COUNT.unpack(bytes(head)[: COUNT.size]), parts) == ((2, 7), [b"a", b"bc"])
    large = [b"x" * 5000, b"yz"]
    assert len(message(7, large, shared)) == 1
    assert list(map(bytes, parted(shared[:5002], [5000, 2]))) == large
    assert message(7, large, None)[1:] == large


def test_what_a_pipe_did_not_take_is_what_is_left() -> None:
    assert list(map(bytes, unwritten([b"abc", b"", b"def"], 4))) == [b"ef"]
    assert unwritten([b"abc", b"def"], 6) == []
