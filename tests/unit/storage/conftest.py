"""Servers, started when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.unit.storage.servers import Serve, served


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts a server that answers so, and tells its host and port."""
    with ExitStack() as running:
        yield lambda handler: running.enter_context(served(handler))
