"""What people see: the progress of a run, its summary, the catalogue."""
