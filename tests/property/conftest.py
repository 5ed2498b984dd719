"""How hard the laws are tried: quick by default, `HYPOTHESIS_PROFILE=thorough` for a long look."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("quick", max_examples=25, deadline=None, database=None, derandomize=True)
settings.register_profile("thorough", max_examples=2000, deadline=None, database=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
