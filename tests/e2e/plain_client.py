"""A whole client that knows no more than the seed's messages."""

import json
import sys

from websockets.sync.client import connect

url, token = sys.argv[1:]
TOOL = {"name": "double", "type": "native", "description": "Doubles a number"}
ME = {"type": "external", "name": "Plain", "is_human": False, "tools": [TOOL]}
with connect(url.replace("http", "ws", 1) + "/api/ws?name=plain") as socket:

    def send(**frame: object) -> None:
        socket.send(json.dumps(frame))

    send(type="handshake", client=ME, auth={"token": token}, session={})
    for text in socket:
        match json.loads(text):
            case {"type": "session_created"}:
                workflow = {"workflow_id": "twice", "input": {"number": 21}}
                send(type="process-start", goal="Double it", **workflow)
            case {"type": "tool-request", "request_id": call, "args": args}:
                send(type="tool-result", request_id=call, result=2 * args["number"])
            case {"type": "process-status", "status": "done", "result": result}:
                sys.stdout.write(f"{result}\n")
                send(type="disconnect")
            case {"type": "error", "message": message}:
                sys.exit(message)
