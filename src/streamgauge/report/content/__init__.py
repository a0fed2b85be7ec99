"""What a report says about runs and sets, in no medium."""
