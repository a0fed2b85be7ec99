"""Workloads of StreamBench (Y. Wang, Aalto University, 2016)."""
