"""What is read: one paper, one file, top to bottom."""
