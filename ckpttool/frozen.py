"""`@frozen`: what `@dataclass(frozen=True)` is, at a tenth of its cost where it is not used.

`dataclasses` compiles seven functions for each class when its module is imported: a tenth of what Python itself needs
to start. A command imports fifty such classes and more, makes values of half of them, and compares or shows hardly any.
Here a class makes its first values without any, compiles `__init__` for those that follow, and asks `dataclasses` for
the rest when that is first wanted.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, dataclass_transform, overload

if TYPE_CHECKING:
    from dataclasses import replace
else:

    def replace(value, /, **changes):
        """What `dataclasses.replace` does; of a class that is `@frozen` itself, without asking `dataclasses` for it."""
        given = type(value).__dict__.get("__given__")
        if given is None:
            return dataclasses.replace(value, **changes)
        return type(value)(**{name: getattr(value, name) for name in given} | changes)


__all__ = ["frozen", "replace"]

T = TypeVar("T")

_COMPARED_OR_SHOWN = ("__eq__", "__hash__", "__repr__")
_FEW = 32  # values cost as much without a compiled `__init__` as it costs to compile one


@overload
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T], /) -> type[T]: ...
@overload
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(*, kw_only: bool) -> Callable[[type[T]], type[T]]: ...
def frozen(cls: type[Any] | None = None, /, *, kw_only: bool = False) -> Any:
    """There is no `__post_init__`, and annotations must be text: `from __future__ import annotations`."""
    return (lambda decorated: _frozen(decorated, kw_only)) if cls is None else _frozen(cls, kw_only)


def _frozen(cls: Any, kw_only: bool) -> Any:
    written = {name: one for name, one in cls.__dict__.items() if name not in ("__dict__", "__weakref__")}
    own = [name for name, annotation in cls.__annotations__.items() if not annotation.startswith("ClassVar")]
    # name → its default, and whether it goes by name only
    given = {name: one for base in reversed(cls.__mro__) for name, one in base.__dict__.get("__given__", {}).items()}
    given |= {name: (written.get(name, MISSING), kw_only) for name in own}
    for name in own:
        if isinstance(written.get(name), Field):
            delattr(cls, name)
    cls.__given__ = given
    cls.__match_args__ = tuple(name for name, (_, by_name) in given.items() if not by_name)  # type: ignore[misc]
    cls.__setattr__, cls.__delattr__ = _refuse_to_set, _refuse_to_delete
    _leave_for_later(cls, written, kw_only)
    return cls


def _leave_for_later(cls: Any, written: dict[str, Any], kw_only: bool) -> None:
    later = [name for name in _COMPARED_OR_SHOWN if name not in written]

    def complete() -> None:
        """`dataclasses` works on a twin: other threads never see a class that is half done, and may do the same at the
        same time."""
        twin = dataclass(frozen=True, kw_only=kw_only)(type(cls)(cls.__name__, cls.__bases__, written))
        for name in (*later, "__dataclass_params__", "__dataclass_fields__"):
            setattr(cls, name, twin.__dict__[name])

    cls.__init__ = _init_of_the_first(cls)
    for name in later:
        setattr(cls, name, _at_first(cls, name, complete))
    cls.__dataclass_fields__ = _FieldsAtFirst(cls, complete)


def _at_first(cls: type[Any], name: str, make: Callable[[], None]) -> Callable[..., Any]:
    def method(self: object, *arguments: object, **named: object) -> Any:
        make()
        return getattr(cls, name)(self, *arguments, **named)

    return method


class _FieldsAtFirst:
    """Where `dataclasses.fields`, `replace` and classes that are derived look for the fields."""

    def __init__(self, cls: Any, complete: Callable[[], None]) -> None:
        self._cls, self._complete = cls, complete

    def __get__(self, value: object, owner: type[Any]) -> Any:
        self._complete()
        return self._cls.__dataclass_fields__


def _init_of_the_first(cls: Any) -> Any:
    """Arguments that do not fit are left to the compiled one, which says what is wrong with them."""
    left = _FEW

    def __init__(self: object, *arguments: Any, **named: Any) -> None:
        nonlocal left
        left -= 1
        values = {**dict(zip(cls.__match_args__, arguments, strict=False)), **named}
        if left >= 0 and len(values) == len(arguments) + len(named):
            for name, (default, _) in cls.__given__.items():
                value = values.pop(name) if name in values else _default_of(default)
                if value is MISSING:
                    break
                object.__setattr__(self, name, value)
            else:
                if not values:
                    return
        cls.__init__ = _compiled_init(cls)
        cls.__init__(self, *arguments, **named)

    __init__.__qualname__ = f"{cls.__qualname__}.__init__"
    return __init__


def _default_of(default: Any) -> Any:
    if not isinstance(default, Field):
        return default
    return default.default if default.default_factory is MISSING else default.default_factory()


def _compiled_init(cls: Any) -> Any:
    scope: dict[str, Any] = {"_set": object.__setattr__, "_absent": MISSING}
    positional, by_name_only, lines = ["self"], list[str](), list[str]()
    for name, (default, by_name) in cls.__given__.items():
        parameter, taken = f"{name}=_{name}", name
        if isinstance(default, Field) and default.default_factory is not MISSING:
            default = default.default_factory
            parameter, taken = f"{name}=_absent", f"_{name}() if {name} is _absent else {name}"
        elif isinstance(default, Field):
            default = default.default
        if default is MISSING:
            parameter = name
        scope[f"_{name}"] = default
        (by_name_only if by_name else positional).append(parameter)
        lines.append(f" _set(self, {name!r}, {taken})\n")
    parameters = [*positional, *(["*", *by_name_only] if by_name_only else [])]
    exec(f"def __init__({', '.join(parameters)}):\n{''.join(lines) or ' pass'}", scope)
    init = scope["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


def _refuse_to_set(_: object, name: str, __: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_: object, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")
