"""`@frozen` against `@dataclass(frozen=True)`: whoever uses such a class sees no difference."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, is_dataclass
from functools import cached_property
from threading import Barrier, Thread
from typing import Any, ClassVar

import pytest

from ckpttool.frozen import frozen, replace


@frozen
class Point:
    x: int
    y: int = 0
    notes: Mapping[str, str] = field(default_factory=dict, compare=False)
    unit: ClassVar[str] = "mm"

    @cached_property
    def far(self) -> bool:
        return self.x + self.y > 10


@frozen
class Named(Point):
    name: str = ""

    def spoken(self) -> str:
        return f"{self.name} of {super().__repr__()}"


@frozen(kw_only=True)
class Labelled(Point):
    label: str


@dataclass(frozen=True)
class Derived(Point):
    z: int = 1


def test_arguments_and_defaults() -> None:
    assert (Point(1).x, Point(1).y, Point(1, y=2).y, Point(1).notes) == (1, 0, 2, {})
    assert Point(1).notes is not Point(1).notes
    assert Labelled(1, label="a").label == "a"
    wrong: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = [
        (Point, (), {}),
        (Point, (1, 2, {}, 3), {}),
        (Labelled, (1, 2, {}, "a"), {}),
        (Point, (1,), {"z": 2}),
    ]
    for kind, arguments, named in wrong:
        with pytest.raises(TypeError):
            kind(*arguments, **named)


def test_nothing_can_be_changed() -> None:
    point = Named(1, name="a")
    with pytest.raises(FrozenInstanceError):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del point.x
    with pytest.raises(FrozenInstanceError):
        point.other = 2  # type: ignore[attr-defined]


def test_values_are_equal_by_their_fields() -> None:
    assert Point(1, 2) == Point(1, 2, {"a": "b"})
    assert hash(Point(1, 2)) == hash(Point(1, 2, {"a": "b"}))
    assert Point(1, 2) != Point(1, 3)
    assert Point(1) != Named(1)
    assert repr(Point(1)) == "Point(x=1, y=0, notes={})"
    assert Named(1, name="a").spoken() == "a of Named(x=1, y=0, notes={})"


def test_dataclasses_knows_them() -> None:
    @frozen
    class Fresh(Named):
        """Nobody has made one of these yet."""

    assert is_dataclass(Fresh)
    assert [one.name for one in fields(Labelled)] == ["x", "y", "notes", "label"]
    assert dataclasses.replace(Named(1, name="a"), y=5) == Named(1, 5, name="a")
    assert asdict(Point(1)) == {"x": 1, "y": 0, "notes": {}}
    assert Derived(1, 2, {}, 3) == replace(Derived(1, 2), z=3)
    match Named(4, 5):
        case Point(x, y):
            assert (x, y) == (4, 5)


@pytest.mark.parametrize("replaced", [replace, dataclasses.replace])
def test_values_with_other_fields(replaced) -> None:  # type: ignore[no-untyped-def]
    point = Named(6, 5, {"a": "b"}, name="n")
    assert point.far
    assert (replaced(point, x=1), replaced(point, x=1).far) == (Named(1, 5, name="n"), False)
    assert replaced(point) == point
    assert replaced(point, name="m").notes is point.notes
    assert replaced(Labelled(1, label="a"), label="b") == Labelled(1, label="b")
    assert replaced(Derived(1, z=3), x=2) == Derived(2, z=3)
    with pytest.raises(TypeError):
        replaced(point, z=1)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_values_can_be_copied(copied) -> None:  # type: ignore[no-untyped-def]
    point = Named(6, 5, {"a": "b"}, name="n")
    assert point.far
    assert copied(point) == point
    assert copied(point).notes == {"a": "b"}


def test_threads_may_make_the_first_values_together() -> None:
    for _ in range(20):

        @frozen
        class New:
            x: int
            y: int = 1

        together, made = Barrier(8), list[object]()

        def make(kind: type[New] = New, together: Barrier = together, made: list[object] = made) -> None:
            together.wait()
            made.append(kind(1) == kind(1, 1) and replace(kind(1), y=2).y == 2 and hash(kind(1)) == hash(kind(1)))

        threads = [Thread(target=make) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert made == [True] * 8


def test_values_are_made_without_the_help_of_dataclasses() -> None:
    """Which would compile all that a dataclass can do, for each of the hundred classes that a command imports."""
    program = (
        "import dataclasses\n"
        "dataclasses.dataclass = None\n"
        "from ckpttool.frozen import replace\n"
        "from ckpttool.model import VersionRange\n"
        "print(replace(VersionRange('3.4', None), min='3.5').min)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "3.5\n"
