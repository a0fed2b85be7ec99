"""What makes the data is no test."""

collect_ignore_glob = ["*/make.py"]
