"""Ground: what exists in the Brain, as plain values and pure tables."""
