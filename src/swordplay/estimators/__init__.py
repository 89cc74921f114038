"""Estimators: the engine in the clothes of scikit-learn and river."""
