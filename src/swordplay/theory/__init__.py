"""Theory: the game, regret, bounds, hindsight, sweeps, the paper's experiment, conformance."""
