"""What a document looks like in one of its forms."""

from __future__ import annotations

from ckpttool.report.document import Aside, Document
from ckpttool.report.renderers import render
from ckpttool.report.style import plain


def shown(document: Document, form: str = "text") -> str:
    """All that goes to standard output, without colours."""
    return "".join(piece for piece in render(document, form, plain) if not isinstance(piece, Aside))
