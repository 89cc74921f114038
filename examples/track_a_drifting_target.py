"""Which step size should I take? None: let Sword find it, in whatever world it wakes up in.

Two worlds, one restless (a jump every 25 rounds, little noise) and one calm (two places to stand at
in 10,000 rounds, much noise). A single gradient descent needs a large step in the first and a small
one in the second, and pays dearly for the wrong one. Sword is told neither, and comes close to the
best step of each, or below it.
"""

import swordplay as sp

ROUNDS = 10_000
STEP_SIZES = [2.0**-k for k in range(9)]

worlds = {
    "restless": sp.streams.drift.jumps(ROUNDS, dim=3, every=25, noise=0.1, seed=0),
    "calm": sp.streams.drift.jumps(ROUNDS, dim=3, every=5_000, noise=1.0, seed=0),
}


def regret(learner: sp.Learner, world: sp.PlantedStream) -> float:
    """What the learner lost, less what standing at the moving target would have lost."""
    return sp.play(learner, world).regret(world.comparators)


single = {
    step: {name: regret(sp.OGD(world.domain, step), world) for name, world in worlds.items()}
    for step in STEP_SIZES
}
sword = {name: regret(sp.Sword(world.domain), world) for name, world in worlds.items()}

print(f"{'regret':22}" + "".join(f"{name:>10}" for name in worlds))
for step, found in single.items():
    print(f"OGD, step {step:<12.6f}" + "".join(f"{found[name]:10.1f}" for name in worlds))
print(f"{'Sword':22}" + "".join(f"{sword[name]:10.1f}" for name in worlds))

for name in worlds:
    best = min(STEP_SIZES, key=lambda step: single[step][name])
    others = ", ".join(
        f"{single[best][other]:.0f} in the {other} world" for other in worlds if other != name
    )
    print(
        f"In the {name} world the best single step is {best:g} (regret {single[best][name]:.0f}; "
        f"{others}); "
        f"Sword has {sword[name]:.0f}."
    )
