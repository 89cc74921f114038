"""What is proven and how it is checked: the game, regret and its bounds, sweeps, the paper's
experiment, conformance.
"""
