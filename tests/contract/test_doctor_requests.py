"""What `ckpt doctor --profile quick` asks of an object store beyond what `plan-recovery` asks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest

from tests.conftest import run_ckpt
from tests.parts.proxy import Proxy
from tests.parts.stores import ObjectServer

pytestmark = pytest.mark.storage


@pytest.mark.parametrize("name", ["4.2.0-file-to-parquet-sound", "4.2.0-windowed-agg-hdfs-sound"])
def test_quick_asks_little_more_than_a_plan(
    object_server: Callable[[str], ObjectServer], sample: Callable[[str], Path], name: str
) -> None:
    server = object_server("s3")
    url = f"{server.put(sample(name), f'b{uuid4().hex}')}/checkpoint"
    asked = {}
    with Proxy(server) as proxy:
        options = [part for pair in proxy.options.items() for part in ("--storage-option", "=".join(pair))]
        for command in (["plan-recovery", "--state", "quick"], ["doctor", "--profile", "quick"]):
            before = len(proxy.requests)
            run_ckpt(command[0], url, *command[1:], *options)
            asked[command[0]] = len(proxy.requests) - before
    assert asked["plan-recovery"] > 0
    assert asked["doctor"] <= asked["plan-recovery"] + 5, asked
