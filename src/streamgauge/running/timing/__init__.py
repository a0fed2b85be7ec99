"""What ends the latency of an event: the commit of its micro-batch, or the arrival of its result."""
