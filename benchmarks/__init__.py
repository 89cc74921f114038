"""Side-by-side timings: the engine, the readable learners, the peers, and a floor in C.

Run ``python -m benchmarks``.
"""
