"""Goals that were far off, and why they are reached or missed: measured, so that whoever doubts it
can measure again.

``python -m benchmarks.profile`` writes these sections to docs/profile.md.
"""

from __future__ import annotations
