"""Which form a file or standard input has that is no job: a description that was saved, a plan, progress. Pure."""

from __future__ import annotations

import hashlib

from ckpttool.errors import MalformedFile
from ckpttool.formats.explain import looks_explained
from ckpttool.formats.progress import looks_logged
from ckpttool.query.from_explain import describe_explain
from ckpttool.query.from_progress import describe_progress
from ckpttool.query.model import DescribedFrom, Description
from ckpttool.query.saved import FAMILY, BadDescription, parse_description


def describe_text(body: bytes, place: str) -> Description | None:
    """By its content; None: it may be a job. `place`: where it is from. Raises BadDescription."""
    is_json, is_job = body.lstrip()[:1] in (b"{", b"["), place.endswith(".py")
    tells_progress = is_json and b'"batchId"' in body and f'"{FAMILY}'.encode() not in body
    try:
        if tells_progress or (not is_json and not is_job and looks_logged(body)):
            return describe_progress(body, DescribedFrom("progress", place, hashlib.sha256(body).hexdigest()))
        if is_json:
            return parse_description(body)
        text = body.decode("utf-8", "replace")
        if not is_job and looks_explained(text):
            origin = DescribedFrom("explain", place, hashlib.sha256(body).hexdigest())
            return describe_explain(text.replace("\r\n", "\n"), origin)
    except MalformedFile as error:
        raise BadDescription(f"{place}: {error.message}", error.next_step or f"give {error.expected}") from None
    return None
