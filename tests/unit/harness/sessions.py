"""A process that stands for a Spark, and a session of it."""

from __future__ import annotations

import os
import sys

from ckpttool.harness.scratch import Scratch
from ckpttool.harness.session import Session, WarmSession

# Answers with its own number and what it was asked; hangs, or ends, where it is told to.
PROGRAM = """
import json, os, sys, time
for line in sys.stdin:
    request = json.loads(line)
    if request.get("hang"): time.sleep(600)
    if request.get("end"): sys.exit("out of memory")
    for name in request.get("commit", []):
        open(name, "w").close()
    print(json.dumps({"pid": os.getpid(), "started": True, "run_id": "run", "failed": None}), flush=True)
"""


def spark_in(scratch: Scratch) -> WarmSession:
    return WarmSession(lambda: Session(scratch, [sys.executable, "-c", PROGRAM], os.environ))
