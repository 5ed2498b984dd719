"""Files that were looked for: what is known of them, and of which nothing is."""

from __future__ import annotations

from ckpttool.errors import Unavailable
from ckpttool.scene.lookup import Lookup


def test_nothing_is_known_of_folders_of_another_machine_and_of_those_that_do_not_answer() -> None:
    found = Lookup(9, frozenset({"a/1"}), ("/mnt/elsewhere",), (("s3://b/in", Unavailable("no answer")),))
    assert found.not_looked_at == ("/mnt/elsewhere", "s3://b/in")


def test_what_is_gone_was_looked_at() -> None:
    assert Lookup(2, frozenset({"a/1", "a/2"})).not_looked_at == ()
