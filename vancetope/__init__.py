"""The Vancetope Brain: a personal agent server that routes every tool call.

A frame travels one way: gateway -> processes (command) -> store -> event ->
scheduler -> engine -> router -> server or client -> command -> store -> event ->
gateway -> frame.  `ARCHITECTURE.md` has the map of the rooms.
"""

__version__ = "0.1.0"
