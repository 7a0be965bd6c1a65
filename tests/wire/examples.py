"""One frame per message, written by hand from the documents' lists of fields.

Every field that the documents name is present, so that decoding and encoding again
must give back the very same object.
"""

from typing import Any

Example = dict[str, Any]

CAUSE: Example = {
    "kind": "client_tool",
    "what": "Waiting for Client for Tool: read_local_file",
    "key": "read_local_file",
    "since": 1_767_225_600_000,
    "wakes_on": "offers changed",
}
PROCESS_ROW: Example = {
    "id": "tp_12",
    "title": "Flash Attention Analyse",
    "status": "blocked",
    "project_id": "proj_5",
    "workflow_id": None,
    "connectionProfile": "foot",
    "pending_tasks": 3,
    "blocked_reason": "Waiting for Client for Tool: read_local_file",
    "cause": CAUSE,
}
TASK_ROW: Example = {
    "task_id": "task_7",
    "key": "read[0]",
    "goal": "Read the paper",
    "status": "blocked",
    "tool": "read_local_file",
    "where": "desk",
    "parent": "task_1",
    "depends_on": ["task_6"],
    "blocked_reason": "Waiting for Client for Tool: read_local_file",
    "cause": CAUSE,
    "result": {"pages": 3},
}
TOOL: Example = {
    "name": "shell_execute",
    "type": "native",
    "description": "Execute shell commands locally",
    "mcp_server": "local",
    "input_schema": {"type": "object"},
    "digest": "ab12",
    "effect": "once",
}
OPENED: Example = {
    "session_id": "sess_abc123",
    "project": {"id": "proj_5", "name": "Literature Review"},
    "active_think_processes": [
        {"id": "tp_12", "title": "Flash", "status": "paused", "pending_tasks": 3}
    ],
    "server_tools": ["web_search", "gmail_send"],
    "epoch": 2,
    "seq": 41,
    "limits": {
        "frame_bytes": 1_048_576,
        "depth": 64,
        "window": 16,
        "ping_ms": 10_000,
        "dead_ms": 25_000,
        "resume_ms": 900_000,
        "inline_result_bytes": 262_144,
    },
    "verdicts": [{"request_id": "call_1", "do": "send_result"}],
}

INBOUND_EXAMPLES: dict[str, Example] = {
    "handshake": {
        "client": {
            "type": "cli",
            "name": "Desk",
            "version": "1.2.0",
            "is_human": True,
            "capabilities": {
                "chat": True,
                "approval": False,
                "streaming": True,
                "notifications": True,
            },
            "tools": [TOOL],
            "client_id": "cl_1",
            "boot_id": "boot_1",
            "journal_id": "journal_1",
            "manual": "# agent.md",
        },
        "auth": {"token": "jwt_abc123"},
        "session": {"resume": "sess_1", "project_id": "proj_5", "last_seq": 40},
        "proto": "vtp/1",
        "inflight": [
            {"request_id": "call_1", "state": "accepted", "args_digest": "ab"}
        ],
    },
    "process-start": {
        "goal": "Review the architecture",
        "workflow_id": "wf_architecture_review",
        "input": {"commit_sha": "abc123", "changed_files": ["a.py"]},
        "recipe": "careful",
        "idempotency_key": "deploy-7",
        "autonomous": True,
    },
    "process-continue": {"thinkProcessId": "tp_12"},
    "process-pause": {"thinkProcessId": "tp_12"},
    "process-stop": {"thinkProcessId": "tp_12"},
    "process-steer": {"thinkProcessId": "tp_12", "message": "Leave out part 3"},
    "process-list": {"project_id": "proj_5", "all": True},
    "process-get": {"thinkProcessId": "tp_12"},
    "task-list": {"thinkProcessId": "tp_12"},
    "task-move": {"task_id": "task_7", "before_task_id": "task_6"},
    "task-cancel": {"task_id": "task_7"},
    "task-rerun": {"task_id": "task_7"},
    "task-approve": {
        "task_id": "task_7",
        "approved": True,
        "approval_id": "appr_1",
        "decision": "run_again",
        "note": "It did not happen",
    },
    "memory-add": {
        "entity_type": "document",
        "subtype": "paper",
        "title": "Attention",
        "content": "text",
        "blob": "ab12",
        "tags": ["imported", "2026"],
    },
    "memory-search": {
        "query": "attention",
        "scope": "proj_5",
        "tags": ["unread"],
        "limit": 5,
    },
    "memory-link": {
        "source_id": "mem_1",
        "target_id": "mem_2",
        "relation_type": "cites",
    },
    "tool-result": {
        "request_id": "call_1",
        "result": None,
        "error": {
            "code": "approval_required",
            "message": "A person has to allow this",
            "what": "Remove a file",
            "argv": ["rm", "a"],
            "diff": "-a",
            "digest": "ab12",
        },
    },
    "tool-accepted": {"request_id": "call_1", "boot_id": "boot_1"},
    "tool-progress": {
        "request_id": "call_1",
        "n": 3,
        "asking": True,
        "details": {"percent": 0.5},
    },
    "tool-cancel-ack": {"request_id": "call_1", "state": "running"},
    "ack": {"seq": 41},
    "chat": {"message": "Hello"},
    "session-bootstrap": {"sessionId": "sess_1", "project_id": "proj_5"},
    "session-list": {"project_id": "proj_5"},
    "inbox-list": {"project_id": "proj_5"},
    "why": {"task_id": "task_7"},
    "tool-list": {},
    "project-list": {},
    "project-create": {"project_id": "proj_6", "name": "Papers"},
    "client_connected": {
        "session_id": "sess_123",
        "client_type": "desktop",
        "available_tools": [TOOL],
    },
    "disconnect": {},
}

OUTBOUND_EXAMPLES: dict[str, Example] = {
    "session_created": OPENED,
    "session_resumed": OPENED,
    "process-status": {
        "thinkProcessId": "tp_12",
        "status": "done",
        "current_task": "task_7",
        "result": {"report": "out.md"},
    },
    "process-list": {"processes": [PROCESS_ROW], "more": True},
    "process-get": {
        "process": {**PROCESS_ROW, "goal": "Analyse it", "result": {"partial": True}}
    },
    "task-update": {
        "task_id": "task_7",
        "status": "blocked",
        "result": [1],
        "blocked_reason": "Waiting for Client for Tool: read_local_file",
        "cause": CAUSE,
        "thinkProcessId": "tp_12",
    },
    "task-list": {"thinkProcessId": "tp_12", "tasks": [TASK_ROW], "more": True},
    "tool-request": {
        "request_id": "call_1",
        "tool_name": "docker_inspect",
        "args": {"container": "app-v2.3.1"},
        "start_within_ms": 1000,
        "run_within_ms": 600_000,
        "heartbeat_ms": 10_000,
        "effect": "read",
        "args_digest": "ab12",
        "approval": {"id": "appr_1", "digest": "ab12"},
    },
    "approval-request": {
        "task_id": "task_7",
        "result_preview": "the first lines",
        "approval": {
            "id": "appr_1",
            "what": "Remove a file",
            "argv": ["rm", "a"],
            "diff": "-a",
            "digest": "ab12",
            "expires_in_ms": 60_000,
        },
    },
    "stream-chunk": {"thinkProcessId": "tp_12", "task_id": "task_7", "chunk": "Hel"},
    "stream-end": {"thinkProcessId": "tp_12", "task_id": "task_7"},
    "notification": {
        "level": "info",
        "message": "Finished",
        "context": {"project_id": "proj_5"},
    },
    "chat": {"message": "Hello back"},
    "memory-result": {"results": [{"id": "mem_1", "score": 0.5}]},
    "error": {
        "code": "unavailable",
        "message": "No model is configured",
        "context": {"fix": "Set one in brain.yaml"},
    },
    "tool-cancel": {"request_id": "call_1", "reason": "the task was cancelled"},
    "tool-result-ack": {"request_id": "call_1"},
    "resume_done": {},
    "goaway": {"reason": "restart", "retry_in_ms": 500},
    "ack": {"entity_id": "mem_1"},
    "session-bootstrap": {"session_id": "sess_1", "resumed": True},
    "session-list": {
        "sessions": [
            {
                "session_id": "sess_1",
                "profile": "foot",
                "project_id": "proj_5",
                "client_name": "desk",
                "status": "open",
                "last_seen": 1_767_225_600_000,
            }
        ]
    },
    "inbox-list": {
        "items": [
            {
                "task_id": "task_7",
                "thinkProcessId": "tp_12",
                "project_id": "proj_5",
                "title": "Remove a file?",
                "cause": CAUSE,
                "approval_id": "appr_1",
            }
        ]
    },
    "why": {
        "task_id": "task_7",
        "status": "blocked",
        "text": "Waiting for Client for Tool: read_local_file",
        "chain": [CAUSE],
    },
    "tool-list": {
        "tools": [
            {
                "name": "read_local_file",
                "location": "client",
                "prefer": "client",
                "type": "native",
                "effect": "read",
                "server": "absent",
                "clients": ["laptop"],
                "description": "Reads a file",
                "source": "bundled",
            }
        ],
        "more": True,
    },
    "project-list": {"projects": [{"id": "proj_5", "name": "Papers"}]},
    "project-create": {"project": {"id": "proj_6", "name": "Papers"}},
}
