"""What nobody can do without: the same client, and the same listings and bodies as `ckpt inspect` of `kept/` asks for.

python benchmarks/bare_s3.py ENDPOINT
"""

from __future__ import annotations

import asyncio
import sys

import s3fs
from fsspec.asyn import sync

CONFIG = {"max_pool_connections": 64}


async def ask(fs: s3fs.S3FileSystem) -> int:
    async def body(key: str) -> int:
        answer = await fs._call_s3("get_object", Bucket="bench", Key=key)
        async with answer["Body"] as stream:
            return len(await stream.read())

    first = fs._call_s3("list_objects_v2", Bucket="bench", Prefix="kept/", Delimiter="/")
    flat = fs._call_s3("list_objects_v2", Bucket="bench", Prefix="kept/")
    _, found = await asyncio.gather(first, flat)
    above = await fs._call_s3("list_objects_v2", Bucket="bench", Prefix="", Delimiter="/")
    assert above["CommonPrefixes"]
    keys = [one["Key"] for one in found["Contents"]]
    wanted = [key for key in keys if not key.endswith(("/900",))]
    return sum(await asyncio.gather(*map(body, wanted)))


def run(endpoint: str) -> None:
    fs = s3fs.S3FileSystem(key="k", secret="s", endpoint_url=endpoint, config_kwargs=CONFIG, skip_instance_cache=True)
    assert sync(fs.loop, ask, fs) > 0


if __name__ == "__main__":
    run(sys.argv[1])
