"""Prototypes and this machine: calibrate CPU work, fit a prototype to a measured run."""
