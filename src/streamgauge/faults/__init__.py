"""Fault experiments: a plan of faults, a driver to kill, and the proof of what was lost or doubled."""
