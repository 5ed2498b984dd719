"""A victim whose JVM does not come."""

from __future__ import annotations

import os
import sys

import pytest

from ckpttool.harness.jdwp import Controller
from ckpttool.harness.scratch import Scratch
from ckpttool.harness.session import Died, Late, Session
from ckpttool.harness.victim import await_jvm
from tests.unit.harness.sessions import PROGRAM


def test_a_process_that_ends_before_its_jvm_is_there(scratch: Scratch) -> None:
    program = "import sys; sys.exit('JAVA_GATEWAY_EXITED')"
    with (
        scratch,
        Controller([]) as controller,
        Session(scratch, [sys.executable, "-c", program], os.environ) as session,
        pytest.raises(Died, match="JAVA_GATEWAY_EXITED"),
    ):
        await_jvm(session, controller)


def test_a_jvm_that_never_comes(scratch: Scratch) -> None:
    with (
        scratch,
        Controller([]) as controller,
        Session(scratch, [sys.executable, "-c", PROGRAM], os.environ) as session,
        pytest.raises(Late, match=r"within 0\.1 s"),
    ):
        await_jvm(session, controller, 0.1)
