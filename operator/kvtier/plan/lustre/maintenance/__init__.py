"""What Google announces for the instance, and what engines do about it."""
