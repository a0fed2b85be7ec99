"""The settings of a run: one table, read from the command line, suite files and Python."""
