"""The local client: native tools within its roots, and the loop that serves them."""
