"""One client's connection: handshake, reader, writer, projection, handlers."""
