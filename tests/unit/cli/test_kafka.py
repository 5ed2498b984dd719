"""`ckpt kafka diff`, as far as no broker takes part."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders import build
from tests.conftest import run_ckpt


def test_sampling_is_for_times(tmp_path: Path) -> None:
    path = str(build(tmp_path, "k0-10 c"))
    outcome = run_ckpt("kafka", "diff", path, "--bootstrap-server", "127.0.0.1:1", "--sample", "1")
    assert outcome.code == 2
    assert "--sample is for --when" in outcome.err


@pytest.mark.extras
def test_metrics_of_a_cluster_that_is_down(tmp_path: Path) -> None:
    at = (str(build(tmp_path, "k0-10 c")), "--bootstrap-server", "127.0.0.1:1", "--export-metrics")
    outcome = run_ckpt("kafka", "diff", *at)
    assert outcome.code == 5
    assert 'source="0"} 0\n' in outcome.out
    assert run_ckpt("kafka", "diff", *at, "--format", "json").code == 2
