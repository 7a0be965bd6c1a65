"""Tools: what exists, who offers it, where a call runs, and the built-in ones."""
