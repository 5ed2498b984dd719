"""Lifecycle rules, as the two stores have them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from ckpttool.formats.bucket_rules import Expiry, parse_google_rules, parse_s3_rules

ON = {"ID": "tmp-30d", "Status": "Enabled"}


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"Prefix": "tmp/", "Expiration": {"Days": 30}}, Expiry("tmp-30d", "tmp/", 30)),
        ({"Filter": {"Prefix": "tmp/"}, "Expiration": {"Days": 30}}, Expiry("tmp-30d", "tmp/", 30)),
        ({"Filter": {}, "Expiration": {"Days": 1}}, Expiry("tmp-30d", "", 1)),
        (
            {"Filter": {"And": {"Prefix": "a/", "ObjectSizeGreaterThan": 500}}, "Expiration": {"Days": 1}},
            Expiry("tmp-30d", "a/", 1, only="larger than 500 bytes"),
        ),
        (
            {"Prefix": "", "Expiration": {"Date": datetime(2027, 1, 1, tzinfo=UTC)}},
            Expiry("tmp-30d", "", None, 1_798_761_600_000),
        ),
        (
            {"Prefix": "", "Transitions": [{"Days": 9, "StorageClass": "GLACIER"}]},
            Expiry("tmp-30d", "", 9, does="archives"),
        ),
        ({"Prefix": "", "Expiration": {"Days": 30}, "Status": "Disabled"}, None),
        ({"Filter": {"Tag": {"Key": "keep", "Value": "no"}}, "Expiration": {"Days": 30}}, None),
        ({"Prefix": "", "NoncurrentVersionExpiration": {"NoncurrentDays": 3}}, None),
        ({"Prefix": "", "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 3}}, None),
        ({"Prefix": "", "Transitions": [{"Days": 9, "StorageClass": "STANDARD_IA"}]}, None),
    ],
)
def test_rules_of_s3(rule: dict[str, Any], expected: Expiry | None) -> None:
    assert parse_s3_rules([ON | rule]) == ((expected,) if expected else ())


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"age": 30}, (Expiry("rule 0", "", 30),)),
        ({"age": 30, "matchesPrefix": ["a/", "b/"]}, (Expiry("rule 0", "a/", 30), Expiry("rule 0", "b/", 30))),
        ({"createdBefore": "2027-01-01"}, (Expiry("rule 0", "", None, 1_798_761_600_000),)),
        ({"age": 3, "matchesSuffix": [".tmp"]}, (Expiry("rule 0", "", 3, only="with a name that ends with .tmp"),)),
        ({"age": 30, "isLive": False}, ()),
        ({"numNewerVersions": 3}, ()),
    ],
)
def test_rules_of_google(condition: dict[str, Any], expected: tuple[Expiry, ...]) -> None:
    assert parse_google_rules([{"action": {"type": "Delete"}, "condition": condition}]) == expected


def test_what_is_moved_at_google_is_read_as_before() -> None:
    rule = {"action": {"type": "SetStorageClass", "storageClass": "ARCHIVE"}, "condition": {"age": 3}}
    assert parse_google_rules([rule]) == ()


@pytest.mark.parametrize("value", [None, {}, "rules", [1, None]])
def test_what_is_no_list_of_rules_has_none(value: Any) -> None:
    assert parse_s3_rules(value) == parse_google_rules(value) == ()
