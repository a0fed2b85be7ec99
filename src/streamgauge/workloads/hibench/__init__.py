"""HiBench's four streaming micro-benchmarks."""
