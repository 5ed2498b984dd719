"""What is known does not count, from day to day; what costs rows is known by its name and place alone."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckpttool.checkup.known import (
    IgnoredFinding,
    KnownFinding,
    KnownFindings,
    costs_rows,
    encode_baseline,
    fingerprint,
    parse_baseline,
    steady,
)
from ckpttool.errors import MalformedFile
from ckpttool.laws.base import Law
from ckpttool.model import Finding, SparkError

DAY_MS = 86_400_000
TO_2027_MS = 1_798_761_600_000  # 2027-01-01T00:00:00Z
OLD = Finding("looks-alive", "warning", "offsets/7", "x")
LOST = Finding("offset-ahead-by-two-or-more", "error", "offsets/7", "rows are left out")


@pytest.mark.parametrize(
    ("path", "without"),
    [
        ("offsets/7", "offsets/*"),
        ("commits/.12.crc", "commits/.*.crc"),
        ("sources/0/12", "sources/0/*"),
        ("sources/1", "sources/1"),
        ("state/0/3/12.delta", "state/0/3/*.delta"),
        ("state/1/_metadata", "state/1/_metadata"),
        ("offsets/.7.4c4b7c4a-1111-4222-8333-123456789abc.tmp", "offsets/.*.*.tmp"),
        (".", "."),
    ],
)
def test_a_path_without_its_batches(path: str, without: str) -> None:
    assert steady(path) == without


def test_the_fingerprint_of_tomorrow_is_that_of_today() -> None:
    tomorrow = Finding("looks-alive", "warning", "offsets/4711", "the newest batch is 8 s old")
    assert fingerprint(OLD) == fingerprint(tomorrow)
    others = [
        Finding("mode-async", "warning", "offsets/7", "x"),
        Finding("looks-alive", "warning", "commits/7", "x"),
        Finding("looks-alive", "warning", "offsets/7", "x", subject="sources/1"),
    ]
    assert len({fingerprint(OLD), *map(fingerprint, others)}) == 4


def entry(finding: Finding, until: str | None = None) -> KnownFinding:
    return KnownFinding(finding.id, finding.path, fingerprint(finding), until)


def test_a_baseline_knows_what_it_has_and_never_what_costs_rows() -> None:
    known = KnownFindings((entry(OLD), entry(LOST)))
    assert known.by(OLD, None, 0) == "baseline"
    assert known.by(LOST, None, 0) is None
    assert known.gone([LOST]) == (entry(OLD),)


def test_what_costs_rows_is_ignored_by_its_id_and_path_alone() -> None:
    assert KnownFindings((), (IgnoredFinding(LOST.id),)).by(LOST, None, 0) is None
    assert KnownFindings((), (IgnoredFinding(LOST.id, "offsets/8"),)).by(LOST, None, 0) is None
    assert KnownFindings((), (IgnoredFinding(LOST.id, "offsets/7"),)).by(LOST, None, 0) == "ignore"
    assert KnownFindings((), (IgnoredFinding(OLD.id),)).by(OLD, None, 0) == "ignore"


def test_a_failure_that_spark_tells_costs_nothing_unless_rows_are_gone_besides() -> None:
    fails = Finding("x", "error", "offsets/7", "x", spark=SparkError("a.B"))
    assert not costs_rows(fails, Law("x", "x"))
    assert costs_rows(fails, Law("x", "x", needs="brokers", severities=("error", "warning")))
    passed_over = Finding("x", "warning", "offsets/7", "x")
    assert costs_rows(passed_over, Law("x", "x", needs="brokers", severities=("error", "warning")))
    assert not costs_rows(passed_over, Law("x", "x", severities=("warning",)))


def test_an_entry_is_known_until_the_end_of_its_day() -> None:
    known = KnownFindings((entry(OLD, "2026-12-31"),))
    assert known.by(OLD, None, TO_2027_MS - 1) == "baseline"
    assert known.by(OLD, None, TO_2027_MS) is None
    assert known.ended(TO_2027_MS) == known.baseline
    assert known.ended(TO_2027_MS - DAY_MS) == ()


def test_what_is_written_is_read_again() -> None:
    text = encode_baseline("id", "/data/ck", [entry(OLD, "2027-01-31")])
    assert parse_baseline(text.encode(), ["looks-alive"]) == ("id", (entry(OLD, "2027-01-31"),))


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("", "no JSON"),
        (encode_baseline("id", "x", [entry(OLD)])[:-20], "no JSON"),
        ("[]", "no baseline"),
        ('{"schema": "ckpt.inspect/1"}', "no baseline"),
        ('{"schema": "ckpt.doctor/1"}', "no findings"),
        ('{"schema": "ckpt.doctor/1", "findings": [7]}', "no id, path and fingerprint"),
        (encode_baseline("id", "x", [KnownFinding("nonsense", ".", "f")]), "no check has the id nonsense"),
        (encode_baseline("id", "x", [KnownFinding(OLD.id, ".", "f", "soon")]), "no day"),
        ('{"a":' * 100_000, "no JSON"),
    ],
)
def test_what_is_no_baseline_is_refused_and_says_why(body: str, why: str) -> None:
    with pytest.raises(MalformedFile, match=why):
        parse_baseline(body.encode(), [OLD.id])


@given(
    st.binary() | st.recursive(st.none() | st.text() | st.integers(), st.lists).map(lambda v: json.dumps(v).encode())
)
def test_whatever_lies_there_is_a_baseline_or_is_refused(body: bytes) -> None:
    with pytest.raises(MalformedFile):
        parse_baseline(body, [])
