"""What can be asked of the Brain: one function an intent, one transaction each."""
