"""The edge: one port, and what comes in and goes out through it.

`listener` reads the head of a connection's first request and gives `/api/ws` to a
WebSocket of ours, everything else to `http` (hypercorn with Quart).  Nothing here
decides what a message means: that is the session's.
"""
