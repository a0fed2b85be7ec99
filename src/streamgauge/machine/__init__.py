"""What this computer is and how busy it is."""
