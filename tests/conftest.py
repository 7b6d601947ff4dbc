"""What all tests share."""

from __future__ import annotations

from hypothesis import settings

# A deadline is a clock, and on a machine busy with other tests it measures those.
settings.register_profile("yiwen", deadline=None)
settings.load_profile("yiwen")
