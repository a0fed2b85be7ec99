"""The Yahoo Streaming Benchmark."""
