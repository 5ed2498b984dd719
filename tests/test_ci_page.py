"""The gate of docs/ci.md does what the page says of it."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.conftest import run_ckpt
from tests.unit.cli.test_check_change import saved
from tests.unit.laws.changes.queries import QUERY, held

PAGE = Path(__file__).parents[1] / "docs" / "ci.md"
(GATE,) = re.findall(r"<!-- gate -->\n```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize(
    ("changed", "code", "annotated"),
    [({}, 0, "::notice file=job.py,line=3,"), ({"operators": ()}, 1, "::error file=job.py,line=3,")],
)
def test_the_gate_lets_through_what_spark_goes_on_with(
    changed: dict[str, tuple[()]], code: int, annotated: str, tmp_path: Path
) -> None:
    """The query is described where Spark is; here that was done before."""
    install, describe, check = GATE.splitlines()
    (tmp_path / "deployed").mkdir()
    saved(tmp_path / "deployed" / "orders.json", held(), form="checkpoint")
    saved(tmp_path / "deployed" / "orders.was.json", QUERY)
    saved(tmp_path / "jobs.json", replace(QUERY, **changed))
    assert install.startswith("pip install ")
    words = shlex.split(describe.replace("jobs/orders.py", "jobs.json"))
    described, arrow, place = words[1:-2], words[-2], words[-1]
    assert arrow == ">"
    (tmp_path / place).write_text(run_ckpt(*described, cwd=tmp_path).out)
    assert json.loads((tmp_path / place).read_text())["queries"][0]["name"] == "orders"
    outcome = run_ckpt(*shlex.split(check)[1:], cwd=tmp_path)
    assert outcome.code == code
    assert outcome.out.startswith(annotated)
