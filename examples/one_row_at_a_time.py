"""How do I predict and learn row by row, as rows arrive?

And what if the process has to stop in between?

``sp.engine.online`` drives a learner through the compiled engine: ``predict(features)`` before the
target is known, ``learn(features, target)`` after. Half-way the target jumps; the errors show the
jump, and that Sword gets over it. The learner behind the model follows, so its state can be saved,
and another process can go on from it.
"""

import numpy as np

import swordplay as sp

DOMAIN = sp.Ball(dim=4, radius=2.0)
ROWS = 4_000

rng = np.random.default_rng(0)
before, after = np.array([1.0, -0.5, 0.3, 0.0]), np.array([-0.6, 0.9, 0.0, 0.4])

learner = sp.Sword(DOMAIN)
model = sp.engine.online(learner)  # squared loss, unless said otherwise
errors = np.empty(ROWS)

for t in range(ROWS):
    features = rng.normal(size=4)
    prediction = model.predict(features)
    target = float(features @ (before if t < ROWS // 2 else after)) + rng.normal(
        scale=0.1
    )  # the world answers
    errors[t] = (prediction - target) ** 2
    model.learn(features, target)

    if (
        t == 2_500
    ):  # a new process would do the same: a fresh learner, the saved state, a model of it
        saved = learner.state()
        learner = sp.Sword(DOMAIN)
        learner.load_state(saved)
        model = sp.engine.online(learner)

print("mean squared error (the noise alone makes 0.010)")
for first, stop in ((0, 20), (20, 2_000), (2_000, 2_020), (2_020, 4_000)):
    print(f"  rows {first:5} to {stop:5}: {errors[first:stop].mean():.3f}")
print(f"The learner has seen {learner.rounds} rows and is at {learner.decision.round(2)}.")
