"""Predictions for stored runs: fit, forecast, calibration and evaluation of the model."""
