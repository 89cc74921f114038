"""Second-order experts, compiled, and the mixture of their forecasts with first-order ones."""
