"""Engines: what a think process does next.  State lives in the store alone."""
