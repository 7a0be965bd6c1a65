"""Every requirement of the three seeds, and the tests that prove them."""
