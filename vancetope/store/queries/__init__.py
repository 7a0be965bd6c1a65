"""All SQL of the Brain: plain synchronous functions over a connection.

Nothing here knows Trio, tools or frames, and nothing decides: callers pass values
and get records.
"""
