"""The fields of `ckpt.query/1`."""

from __future__ import annotations

from ckpttool.query.model import DescribedFrom, Description, Query, SparkSays, fields_of, named


def test_words_that_python_keeps_for_itself_are_spelled_as_json_has_them() -> None:
    fields = fields_of(Description(DescribedFrom("job", "orders.py"), "4.2.0", ()))
    assert fields["from"] == {"form": "job", "place": "orders.py", "sha256": None}
    assert fields_of(SparkSays("A", None, "no"))["class"] == "A"


def test_a_query_without_a_name_is_known_by_its_number() -> None:
    queries = [Query(name, None, None, ()) for name in ("orders", None)]
    assert named(queries) == ["orders", "2"]
