"""What the Brain is doing: commands, calls, the scheduler, engines, workflows."""
