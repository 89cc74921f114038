"""Estimators for scikit-learn and river, and the models behind them."""
