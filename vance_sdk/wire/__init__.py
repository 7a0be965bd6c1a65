"""The protocol between clients and the Brain (PROTOCOL.md sections 1 and 2).

- ``messages``: every message as a frozen class, in the order of the documents
- ``codec``: text to message and back, strict
- ``params``: the query string of the connection URL
- ``errors``, ``limits``: codes, close codes and numbers both sides keep to
- ``digest``: fingerprints of arguments and of tool definitions
- ``schema``: JSON Schema of every message, made from the classes
- ``json``: the types of JSON values
- ``arguments``, ``truncate``: a tool's arguments checked, its result cut

Nothing is imported here: the codec costs what cattrs costs, the limits nothing.
"""
