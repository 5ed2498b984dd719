"""What a bucket does by itself, as a real server tells it, and what one may not ask of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from msgspec.structs import replace

from ckpttool import open_store
from ckpttool.api import Restarted, plan_restart
from ckpttool.laws.health import told_of_health
from ckpttool.model import Finding
from ckpttool.reading.around import look_around
from ckpttool.scene.scene import Scene
from tests.contract.test_faults import s3_error
from tests.parts.proxy import Proxy
from tests.parts.stores import ObjectServer, S3Server

pytestmark = pytest.mark.storage

DAY_MS = 86_400_000
FILES = "4.2.0-kafka-to-kafka-sound"


@pytest.fixture
def bucket(object_server: Callable[[str], ObjectServer], sample: Callable[[str], Path]) -> tuple[S3Server, str]:
    server = object_server("s3")
    assert isinstance(server, S3Server)
    name = f"b{uuid4().hex}"
    server.put(sample(FILES), name)
    return server, name


def scene_at(server: Any, name: str, later_ms: int = 0) -> tuple[Scene, Any]:
    url = f"s3://{name}/checkpoint"
    store = open_store(url, server.options)
    found, _ = plan_restart(url, Restarted(), server.options, now_ms=0, store=store)
    around = look_around(store, found.scene)
    oldest = around.first_by_age
    assert oldest is not None
    return replace(found.scene, around=around, now_ms=oldest[1] + later_ms), around


def told(server: Any, name: str, later_ms: int = 0) -> dict[str, Finding]:
    scene, _ = scene_at(server, name, later_ms)
    return {one.id: one for one in told_of_health(scene)}


def rule(name: str, prefix: str) -> dict[str, Any]:
    return {"ID": name, "Status": "Enabled", "Filter": {"Prefix": prefix}, "Expiration": {"Days": 30}}


def test_a_bucket_without_rules(bucket: tuple[S3Server, str]) -> None:
    found = told(*bucket)
    assert "bucket-lifecycle" not in found
    assert "bucket-unversioned" in found


def test_a_rule_that_takes_the_checkpoint(bucket: tuple[S3Server, str]) -> None:
    server, name = bucket
    rules = {"Rules": [rule("tmp-30d", "checkpoint/"), rule("other", "tables/")]}
    server.client().put_bucket_lifecycle_configuration(Bucket=name, LifecycleConfiguration=rules)
    versioned = {"Status": "Enabled"}
    server.client().put_bucket_versioning(Bucket=name, VersioningConfiguration=versioned)
    found = told(server, name, later_ms=28 * DAY_MS)
    assert "bucket-unversioned" not in found
    assert found["bucket-lifecycle"].message.startswith(
        'the bucket\'s rule "tmp-30d" deletes what lies below checkpoint/ 30 days after it was written'
    )
    assert found["bucket-lifecycle"].message.endswith("goes in 2 days")


@pytest.mark.parametrize(("query", "law"), [("lifecycle", "bucket-lifecycle"), ("versioning", "bucket-unversioned")])
def test_what_may_not_be_asked_is_not_known_and_the_rest_is(bucket: tuple[S3Server, str], query: str, law: str) -> None:
    server, name = bucket
    with Proxy(server) as proxy:
        denied = s3_error(403, "AccessDenied")
        proxy.instead = lambda request: denied if query in request.query else None
        _, around = scene_at(proxy, name)
        assert around.unseen.keys() == {law}
        assert "AccessDenied" in around.unseen[law]
