"""The parts that learners are made of: domains, losses, streams, pools, rates, experts, metas; and the learners themselves."""
