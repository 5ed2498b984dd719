"""Bodies larger than the memory that there is for them: there, looked at, copied, and put back."""

from __future__ import annotations

import getpass
import json
import subprocess
import sys
from collections.abc import Callable
from uuid import uuid4

import pytest

from tests.conftest import AT_LENGTH, CHANGEABLE
from tests.parts.hdfs import HdfsServer
from tests.parts.stores import ObjectServer

SIZE = 128 * 2**20
# In a process of its own: what it has held at most is told by the system.
PROGRAM = """
import hashlib, json, resource, sys
from ckpttool.apply.stores import hdfs, seen
from ckpttool.apply.stores.opening import open_tree

seen.PIECE_BYTES = hdfs.PIECE_BYTES = 2**20
url, options, size = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3])
tree = open_tree(url, "_ckpt/staging", options)

def piece(number):
    return hashlib.sha256(str(number).encode()).digest() * 2**15

def held():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

tree.create("state/small", [piece(0)])
tree.look("state/small")
before = held()
digest = hashlib.sha256()
for number in range(size // 2**20):
    digest.update(piece(number))
tree.create("state/0.sst", map(piece, range(size // 2**20)))
tree = open_tree(url, "_ckpt/staging", options)
found = tree.look("state/0.sst")
assert (found.size, found.sha256) == (size, digest.hexdigest())
tree.copy("state/0.sst", "_ckpt/backup/0.sst", found)
tree.delete("state/0.sst", found.version)
tree.create("state/0.sst", tree.pieces("_ckpt/backup/0.sst"))
tree = open_tree(url, "_ckpt/staging", options)
assert tree.look("state/0.sst").sha256 == digest.hexdigest()
print(held() - before)
"""


@pytest.mark.parametrize("kind", [*CHANGEABLE, pytest.param("hdfs", marks=AT_LENGTH)])
def test_a_large_file_is_not_held(object_server: Callable[[str], ObjectServer], kind: str) -> None:
    server = object_server(kind)
    bucket = f"b{uuid4().hex}"
    user = {"user": getpass.getuser()} if isinstance(server, HdfsServer) else {}
    server.put_objects(bucket, [("q/metadata", b"{}")])
    at = f"{server.url}/{bucket}" if isinstance(server, HdfsServer) else f"{server.protocol}://{bucket}"
    words = [sys.executable, "-c", PROGRAM, f"{at}/q", json.dumps({**server.options, **user}), str(SIZE)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < SIZE // 2
