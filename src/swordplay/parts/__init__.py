"""The parts that learners are made of: domains, losses, streams, pools, rates, experts, metas.

And the learners themselves.
"""
