"""Every message goes over the wire and back, and the tables are the documents'."""

import json
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.examples import INBOUND_EXAMPLES, OUTBOUND_EXAMPLES, Example
from tests.wire.strategies import values
from vance_sdk.wire.codec import decode_inbound, decode_outbound, encode, to_json
from vance_sdk.wire.limits import FRAME_BYTES
from vance_sdk.wire.messages import (
    INBOUND,
    OUTBOUND,
    Auth,
    Capabilities,
    ClientConnected,
    ClientInfo,
    Handshake,
    MemoryAdd,
    MemoryLink,
    ProcessRow,
    ProcessStart,
    ProcessStatus,
    SessionCreated,
    TaskUpdate,
    ToolResult,
)

# The types as the documents name them: the seed's tables, and what PROTOCOL.md adds
# to them at its place.
SEED_INBOUND = [
    "process-start",
    "process-continue",
    "process-pause",
    "process-stop",
    "process-steer",
    "task-list",
    "task-move",
    "task-cancel",
    "task-rerun",
    "task-approve",
    "memory-add",
    "memory-search",
    "memory-link",
    "tool-result",
    "chat",
    "disconnect",
]
ADDED_INBOUND = [
    "handshake",
    "process-list",
    "process-get",
    "tool-accepted",
    "tool-progress",
    "tool-cancel-ack",
    "ack",
    "session-bootstrap",
    "session-list",
    "inbox-list",
    "why",
    "client_connected",
    "tool-list",
    "project-list",
    "project-create",
]
SEED_OUTBOUND = [
    "process-status",
    "task-update",
    "task-list",
    "tool-request",
    "approval-request",
    "stream-chunk",
    "stream-end",
    "notification",
    "chat",
    "memory-result",
    "error",
]
ADDED_OUTBOUND = [
    "session_created",
    "session_resumed",
    "process-list",
    "process-get",
    "tool-cancel",
    "tool-result-ack",
    "resume_done",
    "goaway",
    "ack",
    "session-bootstrap",
    "session-list",
    "inbox-list",
    "why",
    "tool-list",
    "project-list",
    "project-create",
]


@pytest.mark.requirement("003-2.3-inbound-types", "003-2.3-outbound-types")
@pytest.mark.parametrize(
    ("table", "seed", "added"),
    [
        pytest.param(INBOUND, SEED_INBOUND, ADDED_INBOUND, id="inbound"),
        pytest.param(OUTBOUND, SEED_OUTBOUND, ADDED_OUTBOUND, id="outbound"),
    ],
)
def test_the_table_has_the_documents_types_in_the_seeds_order(
    table: dict[str, type], seed: list[str], added: list[str]
) -> None:
    assert sorted(table) == sorted(seed + added)
    assert [name for name in table if name in seed] == seed


def test_every_message_has_an_example() -> None:
    assert list(INBOUND_EXAMPLES) == list(INBOUND)
    assert list(OUTBOUND_EXAMPLES) == list(OUTBOUND)


def _frame(name: str, body: Example) -> Example:
    return {"type": name, "id": "a", "reply_to": "b", **body}


@pytest.mark.requirement("003-2.3-inbound-types")
@pytest.mark.parametrize("name", INBOUND)
def test_an_inbound_example_comes_back_field_for_field(name: str) -> None:
    frame = _frame(name, INBOUND_EXAMPLES[name])
    message = decode_inbound(json.dumps(frame), max_bytes=FRAME_BYTES)

    assert type(message) is INBOUND[name]
    # An absent result beside an error stands for null, and is not written.
    if name == "tool-result":
        del frame["result"]
    assert json.loads(encode(message)) == frame


@pytest.mark.requirement("003-2.3-outbound-types")
@pytest.mark.parametrize("name", OUTBOUND)
def test_an_outbound_example_comes_back_field_for_field(name: str) -> None:
    frame = {"seq": 7, **_frame(name, OUTBOUND_EXAMPLES[name])}
    message = decode_outbound(json.dumps(frame))

    assert type(message) is OUTBOUND[name]
    assert json.loads(encode(message)) == frame


@pytest.mark.parametrize(
    ("table", "examples"),
    [
        pytest.param(INBOUND, INBOUND_EXAMPLES, id="inbound"),
        pytest.param(OUTBOUND, OUTBOUND_EXAMPLES, id="outbound"),
    ],
)
def test_the_examples_name_every_field(
    table: dict[str, Any], examples: dict[str, Example]
) -> None:
    for name, cls in table.items():
        common = {"id", "reply_to", "seq"}
        fields = {
            field.metadata.get("wire_name", field.name) for field in attrs.fields(cls)
        }
        assert fields - common == set(examples[name]) - common, name


@pytest.mark.parametrize("name", INBOUND)
@given(data=st.data())
def test_any_inbound_message_round_trips(name: str, data: st.DataObject) -> None:
    message = data.draw(values(INBOUND[name]))
    text = encode(message)
    back = decode_inbound(text, max_bytes=FRAME_BYTES)

    assert back == message
    assert encode(back) == text
    assert decode_inbound(text.encode(), max_bytes=FRAME_BYTES) == message


@pytest.mark.parametrize("name", OUTBOUND)
@given(data=st.data())
def test_any_outbound_message_round_trips(name: str, data: st.DataObject) -> None:
    message = data.draw(values(OUTBOUND[name]))
    text = encode(message)
    back = decode_outbound(text)

    assert back == message
    assert encode(back) == text


SEED_HANDSHAKE = """{
  "type": "handshake",
  "client": {
    "type": "cli", "name": "Mikes CLI", "version": "1.2.0", "is_human": true,
    "capabilities": {
      "chat": true, "approval": true, "streaming": true, "notifications": true
    },
    "tools": [
      {"name": "shell_execute", "type": "native",
       "description": "Execute shell commands locally"},
      {"name": "obsidian_read_note", "type": "mcp",
       "mcp_server": "obsidian-mcp-tools",
       "description": "Read notes from local Obsidian vault"}
    ]
  },
  "auth": {"token": "jwt_abc123..."},
  "session": {"resume": "sess_abc123"}
}"""

SEED_CREATED = """{
  "type": "session_created",
  "session_id": "sess_abc123",
  "project": {"id": "proj_5", "name": "Literature Review"},
  "active_think_processes": [
    {"id": "tp_12", "title": "Flash Attention Analyse", "status": "paused",
     "pending_tasks": 3}
  ],
  "server_tools": ["web_search", "jira_create_issue", "gmail_send"]
}"""

SEED_ROBOT = """{
  "type": "handshake",
  "client": {
    "type": "external", "name": "GitHub Actions CI Bot", "version": "1.0.0",
    "is_human": false,
    "capabilities": {
      "chat": false, "approval": false, "streaming": false, "notifications": false
    },
    "tools": [{"name": "github_api", "type": "native",
               "description": "Access GitHub API for repo operations"}]
  },
  "auth": {"token": "service_token_xyz..."},
  "session": {"project_id": "proj_vance_dev"}
}"""

SEED_CONNECTED = """{
  "type": "client_connected",
  "session_id": "sess_123",
  "client_type": "desktop",
  "available_tools": [
    {"name": "obsidian_read_note", "type": "mcp", "mcp_server": "obsidian-mcp-tools"},
    {"name": "shell_execute", "type": "native"},
    {"name": "read_local_file", "type": "native"},
    {"name": "git_status", "type": "native"}
  ]
}"""


@pytest.mark.requirement("003-2.2-handshake-fields")
def test_the_seeds_handshake_is_read_and_written_as_it_stands() -> None:
    message = decode_inbound(SEED_HANDSHAKE, max_bytes=FRAME_BYTES)

    assert isinstance(message, Handshake)
    assert message.session is not None
    assert message.session.resume == "sess_abc123"
    assert [tool.name for tool in message.client.tools] == [
        "shell_execute",
        "obsidian_read_note",
    ]
    assert json.loads(encode(message)) == json.loads(SEED_HANDSHAKE)


@pytest.mark.requirement("003-2.2-session-answer-fields")
def test_the_seeds_session_created_is_read_and_written_as_it_stands() -> None:
    message = decode_outbound(SEED_CREATED)

    assert isinstance(message, SessionCreated)
    assert message.active_think_processes[0].pending_tasks == 3
    assert json.loads(encode(message)) == json.loads(SEED_CREATED)


@pytest.mark.requirement("003-3.2-robot-handshake-fields")
def test_the_seeds_robot_handshake_is_read_and_written_as_it_stands() -> None:
    message = decode_inbound(SEED_ROBOT, max_bytes=FRAME_BYTES)

    assert isinstance(message, Handshake)
    assert message.client.capabilities == Capabilities(
        chat=False, approval=False, streaming=False, notifications=False
    )
    assert not message.client.is_human
    assert json.loads(encode(message)) == json.loads(SEED_ROBOT)


@pytest.mark.requirement("000-5-client-connected-fields")
def test_the_seeds_client_connected_is_read_and_written_as_it_stands() -> None:
    message = decode_inbound(SEED_CONNECTED, max_bytes=FRAME_BYTES)

    assert isinstance(message, ClientConnected)
    assert len(message.available_tools) == 4
    assert json.loads(encode(message)) == json.loads(SEED_CONNECTED)


def test_hints_that_are_absent_count_as_true() -> None:
    message = decode_inbound(
        '{"type": "handshake", "client": {"capabilities": {"approval": false}},'
        ' "auth": {"token": "t"}}',
        max_bytes=FRAME_BYTES,
    )

    assert isinstance(message, Handshake)
    assert message.client.is_human
    assert message.client.capabilities == Capabilities(approval=False)
    assert message.session is None


def test_optional_fields_that_are_absent_are_not_written() -> None:
    assert json.loads(encode(ProcessStart(goal="g"))) == {
        "type": "process-start",
        "goal": "g",
        "autonomous": False,
    }
    assert json.loads(encode(TaskUpdate(task_id="t", status="done"))) == {
        "type": "task-update",
        "task_id": "t",
        "status": "done",
    }


def test_the_type_is_the_first_key_of_a_frame() -> None:
    text = encode(ProcessStatus(id="x", think_process_id="tp_1", status="done"))

    assert text.startswith('{"type":"process-status",')


def test_a_tool_result_of_null_is_written_as_null() -> None:
    assert json.loads(encode(ToolResult(request_id="c"))) == {
        "type": "tool-result",
        "request_id": "c",
        "result": None,
    }


@pytest.mark.requirement("003-2.3-tool-result-error")
def test_a_tool_error_may_be_a_plain_string() -> None:
    message = decode_inbound(
        '{"type": "tool-result", "request_id": "c", "error": "no such file"}',
        max_bytes=FRAME_BYTES,
    )

    assert message == ToolResult(request_id="c", error="no such file")


def test_a_memory_entity_of_a_blob_alone_is_complete() -> None:
    message = MemoryAdd(entity_type="document", title="t", blob="ab")

    assert decode_inbound(encode(message), max_bytes=FRAME_BYTES) == message


@pytest.mark.parametrize(
    "message",
    [
        MemoryAdd(title="t", content="c", tags=("a",)),
        MemoryLink(source_id="mem_1", target_id="mem_2"),
    ],
)
def test_a_memory_message_of_the_seeds_other_fields_alone_is_read(
    message: MemoryAdd | MemoryLink,
) -> None:
    text = encode(message)

    assert text.count('"type"') == 1
    assert "_type" not in text
    assert decode_inbound(text, max_bytes=FRAME_BYTES) == message


def test_a_row_is_written_with_all_its_fields() -> None:
    row = ProcessRow(
        id="tp_1",
        title="t",
        status="running",
        project_id="default",
        workflow_id=None,
        connection_profile="web",
        pending_tasks=0,
        blocked_reason=None,
        cause=None,
    )

    assert to_json(row) == {
        "id": "tp_1",
        "title": "t",
        "status": "running",
        "project_id": "default",
        "workflow_id": None,
        "connectionProfile": "web",
        "pending_tasks": 0,
        "blocked_reason": None,
        "cause": None,
    }


def test_no_repr_shows_a_token() -> None:
    message = Handshake(client=ClientInfo(), auth=Auth(token="s3cr3t"))

    assert "s3cr3t" not in repr(message)
