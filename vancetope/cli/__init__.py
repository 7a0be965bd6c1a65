"""The command line: the only `trio.run` of the program, and the only printing.

One module a command or a small group of them, loaded when it is called.
"""
