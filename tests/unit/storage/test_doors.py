"""The two doors: what the user typed is opened; what a file names, only where the user pointed."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpttool.errors import CkptError, NotPointedAt, Refused
from ckpttool.storage.authority import Named
from ckpttool.storage.doors import Doors


def test_what_is_typed_is_opened_and_leads_to_what_is_below_it(tmp_path: Path) -> None:
    (tmp_path / "ck" / "in").mkdir(parents=True)
    (tmp_path / "ck" / "in" / "x").touch()
    doors = Doors([str(tmp_path / "ck")])
    assert doors.open(str(tmp_path / "ck")).list() == ["in"]
    assert doors.follow(Named((tmp_path / "ck" / "in").as_uri())).list() == ["x"]


def test_a_directory_is_the_same_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "real" / "in").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    doors = Doors([str(tmp_path / "link")])
    assert doors.follow(Named(str(tmp_path / "link"))).list() == ["in"]
    assert doors.follow(Named(str(tmp_path / "real"))).list() == ["in"]


def test_what_a_file_names_beside_it_is_not_opened(tmp_path: Path) -> None:
    with pytest.raises(NotPointedAt):
        Doors([str(tmp_path / "ck"), "memory://typed"]).follow(Named(str(tmp_path / "in")))
    assert Doors([str(tmp_path / "ck")], look_at=[str(tmp_path)]).follow(Named(str(tmp_path / "in")))


def test_of_an_archive_what_it_lies_in_is_typed() -> None:
    assert Doors(["zip://ck::memory://b/x.zip"]).follow(Named("memory://b/in"))
    with pytest.raises(NotPointedAt):
        Doors(["zip://ck::/data/x.zip"]).follow(Named("/data/x.zip"))


@pytest.mark.parametrize("typed", ["", "viewfs://x", "hdfs:///x", "\0"])
def test_what_cannot_be_opened_leads_nowhere(typed: str) -> None:
    doors = Doors([typed])
    with pytest.raises(CkptError):
        doors.open(typed)
    with pytest.raises(NotPointedAt):
        doors.follow(Named("/data"))


def test_what_no_file_may_lead_to_is_refused_at_once() -> None:
    with pytest.raises(Refused):
        Doors([], look_at=["ftp://host"])
