"""Second-order experts, compiled, and the meta that weighs them against others by what they
forecast.
"""
