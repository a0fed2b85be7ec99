"""What people see on a terminal."""
