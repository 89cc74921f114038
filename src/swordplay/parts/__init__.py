"""Readable learners and their parts: domains, losses, streams, pools, rates, experts, metas."""
