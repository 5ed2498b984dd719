"""What changed code did to a checkpoint, or was about to."""

from __future__ import annotations

from ckpttool.causes.base import KnownCause, Sign, Symptoms
from ckpttool.words import listed

_NEVER = "operator-never-committed"


def _failed_deploy(symptoms: Symptoms) -> Sign | None:
    """The law has looked: an operator has what describes it and not one version, while batches went on."""
    told = symptoms.of(_NEVER)
    if not told:
        return None
    paths = [one.path for one in told]
    explains = tuple(
        one
        for one in symptoms.findings
        if one in told or (one.id.startswith("state-") and any(f"{one.path}/".startswith(f"{at}/") for at in paths))
    )
    what = f"{listed(paths)}: a schema, and not one version, while batches were committed"
    files = symptoms.scene.needed_state
    if files and files.stores:
        return Sign("certain", f"{what} with other operators", explains)
    tells = "whether the old code kept state: its explain(), or stateOperators in its progress"
    return Sign("likely", f"{what} before that was written", explains, would_tell=tells)


CAUSES = (
    KnownCause(
        "failed-deploy",
        "a deploy failed: changed code was started here once, and did not get through a batch",
        "The new code has a stateful operator more, or another one. Its start wrote what describes the operator, and"
        " failed before the first batch was committed. What the old code wrote is whole: it goes on as if nothing had"
        " been, once it is put back. Starting over would throw a sound checkpoint away.",
        "an operator in state/ with a schema and without one version, younger than what was committed",
        (_NEVER, "state-file-missing", "state-schema-corrupt"),
        _failed_deploy,
        "put the old code back: nothing is lost; the new code wants a checkpoint of its own",
        "ckpt check-change {path} --query JOB.py",
        never=("start-over", "rewind-to-batch"),
    ),
)
