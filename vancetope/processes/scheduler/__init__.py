"""The loop that runs ready tasks, what wakes the others, and how a boot recovers."""
