"""What is read: the blocks that models share."""
