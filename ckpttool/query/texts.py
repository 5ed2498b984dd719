"""Which form a file or standard input has that is no job: a description that was saved, a plan, progress. Pure.

Most of what is read are descriptions: what parses the others is imported where it is needed.
"""

from __future__ import annotations

import hashlib

from ckpttool.errors import MalformedFile
from ckpttool.literals import shell_word
from ckpttool.query.model import DescribedFrom, Description
from ckpttool.query.saved import FAMILY, BadDescription, parse_description


def describe_text(body: bytes, place: str) -> Description | None:
    """By its content; None: it may be a job. `place`: where it is from. Raises BadDescription."""
    if b"\0" in body:
        step = f"decompress it: zcat {shell_word(place)} | ckpt query describe -"
        raise BadDescription(f"{place} is no text: neither a job, nor what Spark prints or logs", step)
    is_json = body.lstrip()[:1] in (b"{", b"[")
    tells_progress = is_json and b'"batchId"' in body and f'"{FAMILY}'.encode() not in body
    try:
        if is_json and not tells_progress:
            return parse_description(body)
        return _told(body, place, tells_progress=tells_progress)
    except MalformedFile as error:
        raise BadDescription(f"{place}: {error.message}", error.next_step or f"give {error.expected}") from None


def _told(body: bytes, place: str, *, tells_progress: bool) -> Description | None:
    """What Spark says of a query."""
    from ckpttool.formats.explain import looks_explained
    from ckpttool.formats.progress import looks_logged
    from ckpttool.query.from_explain import describe_explain
    from ckpttool.query.from_progress import describe_progress

    is_job, digest = place.endswith(".py"), hashlib.sha256(body).hexdigest()
    if tells_progress or (not is_job and looks_logged(body)):
        return describe_progress(body, DescribedFrom("progress", place, digest))
    text = body.decode("utf-8", "replace")
    if not is_job and looks_explained(text):
        return describe_explain(text.replace("\r\n", "\n"), DescribedFrom("explain", place, digest))
    return None
