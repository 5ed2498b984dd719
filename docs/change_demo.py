"""The part of `make demo` about changed queries: one deploy that Spark would refuse, and one that it would take
without a word. Nothing is started: descriptions are held against a checkpoint that real Spark left.

    python docs/change_demo.py
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from msgspec.structs import replace

from ckpttool import gather_evidence, open_checkpoint
from ckpttool.query.from_checkpoint import query_of
from ckpttool.query.model import DescribedFrom, Description, Meaning, Query, QueryOperator, fields_of

CHECKPOINT = Path(__file__).resolve().parents[1] / "sample_checkpoints/4.2.0-windowed-agg-hdfs-sound/checkpoint"
TEN = Meaning(("window(ts, 10000 ms, 10000 ms)",), ("count(1)",), window_ms=10_000, slide_ms=10_000)
TWENTY = Meaning(("window(ts, 20000 ms, 20000 ms)",), ("count(1)",), window_ms=20_000, slide_ms=20_000)


def main() -> int:
    deployed = query_of(gather_evidence(open_checkpoint(str(CHECKPOINT))))
    (counting,) = deployed.operators
    told = replace(deployed, name="orders", where="jobs/orders.py:12", not_told=(), plan_sha256="1")
    sound = replace(told, operators=(replace(counting, meaning=TEN),))
    with tempfile.TemporaryDirectory() as folder:
        show("A deploy: the query counts by one more column.", by_column(sound, counting), folder, 1)
        longer = replace(sound, operators=(replace(counting, meaning=TWENTY),), plan_sha256="2")
        show("Another one: the windows are twice as long. Spark would say nothing.", longer, folder, 1)
        show("And the query as it was.", sound, folder, 0)
    return 0


def by_column(query: Query, counting: QueryOperator) -> Query:
    (store,) = counting.stores
    key = dict(store.key_schema)
    key["fields"] = [*key["fields"], {"name": "country", "type": "string", "nullable": True, "metadata": {}}]
    meaning = replace(TEN, keys=(*TEN.keys, "country"))
    operator = replace(counting, stores=(replace(store, key_schema=key),), meaning=meaning)
    return replace(query, operators=(operator,), plan_sha256="3")


def show(what: str, query: Query, folder: str, expected: int) -> None:
    place = Path(folder) / "orders.json"
    described = Description(DescribedFrom("job", "jobs/orders.py"), "4.2.0", (query,))
    place.write_text(json.dumps({"schema": "ckpt.query/1", **fields_of(described)}))
    command = f"ckpt check-change {CHECKPOINT.parts[-2]}/checkpoint --query orders.json"
    print(f"\n\033[1m{what}\033[0m\n$ {command}\n", flush=True)
    ran = subprocess.run(["ckpt", "check-change", str(CHECKPOINT), "--query", str(place)], check=False)
    print(f"\n(exit status {ran.returncode})", flush=True)
    if ran.returncode != expected:
        sys.exit(f"the tour expected exit status {expected}")


if __name__ == "__main__":
    sys.exit(main())
