"""The part of `make demo` about changed queries: a deploy that Spark refuses, and one that it takes without a word.

    python docs/change_demo.py

Each is held against the checkpoint by `ckpt check-change` before it is started, and then it is started: by the same
Spark, on a copy. What leads out of each is started as well.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.parts.spark import ensure_spark

SPARK = "4.2.0"
PLACE = Path("/tmp/ckpttool-demo-change")
DEPLOYED = Path(__file__).with_name("orders_job.py")
CONDITION = re.compile(r"\[([A-Z_.]+)\]")


def main() -> None:
    began = time.monotonic()
    shutil.rmtree(PLACE, ignore_errors=True)
    query = PLACE / "query"
    (query / "orders").mkdir(parents=True)
    tell("17. A query with state, deployed: revenue by city. Its description is kept with it.")
    order(query, 1, {"Bern": (70, 7), "Oslo": (30, 3)})
    start(DEPLOYED, query)
    show_revenue(query)
    was = PLACE / "deployed.json"
    was.write_text(ckpt("query", "describe", DEPLOYED, *spark(query), "--format", "json", shows=False))
    order(query, 2, {"Bern": (40, 4)})

    tell("18. A deploy that also groups by country. Before it is started:")
    refused = changed('groupBy("city")', 'groupBy("city", "country")')
    check(refused, query, was)
    tell("19. Started all the same, on a copy; and then the old code, on what that left:")
    copy = copied(query)
    condition = start(refused, copy)
    start(DEPLOYED, copy)
    goes_on = show_revenue(copy) == {"Bern": 110, "Oslo": 30}

    tell("20. Another deploy: it sums amounts, and no longer prices. Before it is started:")
    mixes = changed('sum_of("price")', 'sum_of("amount")')
    check(mixes, query, was)
    tell("21. Started all the same, on a copy: Spark says nothing. 7 + 4 were sold in Bern, and 3 in Oslo.")
    copy = copied(query)
    said_nothing = start(mixes, copy) is None
    mixture = show_revenue(copy)
    tell("22. The way out: started beside the old one, on a checkpoint of its own.")
    beside = copied(query)
    shutil.rmtree(beside / "checkpoint")
    start(mixes, beside)
    right = show_revenue(beside)

    came_so = condition == "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE" and goes_on and said_nothing
    came_so = came_so and mixture == {"Bern": 74, "Oslo": 30} and right == {"Bern": 11, "Oslo": 3}
    print(f"({time.monotonic() - began:.0f} s; the files are in {PLACE})")
    sys.exit(0 if came_so else 1)


def order(query: Path, number: int, sold: dict[str, tuple[int, int]]) -> None:
    """A file of orders: city → price and amount."""
    lines = [json.dumps({"city": city, "country": "?", "price": price, "amount": amount})
             for city, (price, amount) in sold.items()]  # fmt: skip
    (query / "orders" / f"{number}.json").write_text("\n".join(lines))


def changed(old: str, new: str) -> Path:
    """The job with that one change, which is shown."""
    before = DEPLOYED.read_text()
    after = before.replace(old, new)
    job = PLACE / "orders_job.py"
    job.write_text(after)
    lines = difflib.ndiff(before.splitlines(), after.splitlines())
    print("\n".join(line for line in lines if line[0] in "+-"), end="\n\n")
    return job


def copied(query: Path) -> Path:
    """The path is the same while a job runs, since files are known by it: what is copied is what is kept."""
    kept = PLACE / "kept"
    if kept.exists():
        shutil.rmtree(query)
        shutil.copytree(kept, query)
    else:
        shutil.copytree(query, kept)
    return query


def check(job: Path, query: Path, was: Path) -> None:
    ckpt("check-change", query / "checkpoint", "--query", job, "--was", was, *spark(query), ends_with=1)


def start(job: Path, query: Path) -> str | None:
    """Runs it to its end; the condition with which it failed."""
    done = subprocess.run(
        [str(ensure_spark(SPARK)), str(job), str(query)],
        env=os.environ | {"PYSPARK_PYTHON": str(ensure_spark(SPARK))},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode == 0:
        return None
    conditions = CONDITION.findall(done.stderr)
    print(f"Spark fails with {conditions[-1] if conditions else done.stderr[-300:]}.")
    return conditions[-1] if conditions else ""


def show_revenue(query: Path) -> dict[str, int]:
    (file,) = (query / "revenue").glob("*.json")
    rows = {row["city"]: row["revenue"] for row in map(json.loads, file.read_text().splitlines())}
    print(f"Revenue: {', '.join(f'{city} {revenue}' for city, revenue in sorted(rows.items()))}")
    return rows


def spark(query: Path) -> tuple[object, ...]:
    return "--python", ensure_spark(SPARK), "--job-arg", query


def tell(title: str) -> None:
    print(f"\n\033[1m{title}\033[0m", flush=True)


def ckpt(*arguments: object, ends_with: int = 0, shows: bool = True) -> str:
    words = [str(word) for word in arguments]
    print(f"$ ckpt {' '.join(words)}\n", flush=True)
    command = [str(Path(sys.executable).with_name("ckpt")), *words]
    done = subprocess.run(command, stdout=None if shows else subprocess.PIPE, text=True, check=False)
    if done.returncode != ends_with:
        sys.exit(f"ckpt ended with {done.returncode}")
    return done.stdout or ""


if __name__ == "__main__":
    main()
