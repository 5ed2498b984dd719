"""A file system that answers every question with one error."""

from __future__ import annotations

from typing import Any


class Failing:
    protocol: str | tuple[str, ...] = "failing"

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __getattr__(self, name: str) -> Any:
        def fail(*_: Any, **__: Any) -> None:
            raise self.error

        return fail
