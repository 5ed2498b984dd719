"""The one door to trees that can be changed: by its URL, each is opened as the kind of storage that it lies in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ckpttool.apply.make_plan import absolute
from ckpttool.apply.outcome import NotApplied, WhyNot
from ckpttool.apply.stores.azure import WritableAzure
from ckpttool.apply.stores.base import WritableStore
from ckpttool.apply.stores.gcs import WritableGoogle
from ckpttool.apply.stores.hdfs import HdfsTree
from ckpttool.apply.stores.local import LocalDisk
from ckpttool.apply.stores.objects import ObjectTree, WritableBucket
from ckpttool.apply.stores.s3 import WritableS3
from ckpttool.literals import shell_path
from ckpttool.storage.buckets import AzureBucket, GoogleBucket, S3Bucket
from ckpttool.storage.hdfs import HdfsStore
from ckpttool.storage.objects import ObjectStore
from ckpttool.storage.store import open_store
from ckpttool.storage.urls import is_local, redact_url

_WRITABLE: Mapping[type, Callable[[Any, str], WritableBucket]] = {
    S3Bucket: WritableS3,
    AzureBucket: WritableAzure,
    GoogleBucket: WritableGoogle,
}


def open_tree(url: str, staging: str, storage: Mapping[str, str], first: str = "") -> WritableStore:
    """`staging`: a directory below it for what is not whole yet, where that is needed. `first`: what the names start
    with that matter most, where one page is asked for and tells of all below them."""
    if is_local(url):
        return LocalDisk(absolute(url), staging)
    store = open_store(url, storage)
    if isinstance(store, ObjectStore):
        bucket: Any = store.bucket
        writable = _WRITABLE[type(bucket)](bucket.fs, bucket.name)
        return ObjectTree(store.url, store.backend, writable, store.segments, first)
    if isinstance(store, HdfsStore):
        return HdfsTree(store, staging)
    by_hand = f"ckpt plan-recovery {shell_path(redact_url(url))} --format json has the commands to do it by hand"
    raise NotApplied(WhyNot("not-writable", "checkpoints are not changed in this kind of storage", next_step=by_hand))
