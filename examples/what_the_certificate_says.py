"""How good was the run, if nobody knows the truth?

The certificate bounds the regret against every sequence at once.

A sequence that may move more often fits better, so the regret against it is larger; it also travels
farther, and the certificate grows with the distance travelled. Here are the best sequences that
hindsight finds if they may move every so many rounds, and what the run itself had certified against
all sequences that travel as far, without having seen any of them.
"""

import swordplay as sp

ROUNDS = 2_000
BLOCKS = (2_000, 1_000, 500, 250, 50, 10, 1)

world = sp.streams.drift.jumps(
    ROUNDS, dim=3, every=250, noise=0.1, seed=0
)  # the truth: a jump every 250 rounds
learner = sp.Sword(world.domain)
ledger = sp.play(learner, world)
print(f"{learner!r} lost {ledger.total_loss:.1f}.\n")

print("moves every   travels    loses   regret   certified")
for length in BLOCKS:
    best = sp.hindsight.block_minimizers(world, world.domain, length)
    path = sp.path_length(best)
    regret, certified = ledger.regret(best), learner.certificate(path)
    print(
        f"{length:11} {path:9.1f} {sp.comparator_loss(world, best):8.1f} {regret:8.1f} "
        f"{certified:11.1f}"
    )
    if regret > certified:
        raise SystemExit("the certificate is broken: this must never happen")

print(
    "\nNo regret is above what was certified. A negative one means that the learner did better "
    "than that sequence."
)
