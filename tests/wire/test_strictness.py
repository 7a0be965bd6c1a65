"""Nothing is coerced, and a refusal says where the frame is wrong."""

from typing import Any

import pytest

from tests.wire.reading import read, refusal_of
from vance_sdk.wire.messages import Chat, ProcessStart

_HELLO: dict[str, Any] = {
    "type": "handshake",
    "id": "q",
    "client": {},
    "auth": {"token": "t"},
}


@pytest.mark.requirement("003-2-no-coercion")
@pytest.mark.parametrize(
    ("frame", "path", "expected"),
    [
        ({"type": "chat", "message": 5}, "$.message", "a string, got an integer"),
        ({"type": "chat", "message": True}, "$.message", "a string, got true or"),
        ({"type": "chat", "message": None}, "$.message", "a string, got null"),
        ({"type": "chat", "message": ["a"]}, "$.message", "a string, got an array"),
        ({"type": "chat"}, "$.message", "a value, got nothing"),
        ({"type": "chat", "message": "m", "id": 5}, "$.id", "a string, got an integer"),
        ({"type": "ack", "seq": True}, "$.seq", "an integer"),
        ({"type": "ack", "seq": 1.0}, "$.seq", "an integer"),
        ({"type": "ack", "seq": "1"}, "$.seq", "an integer"),
        ({"type": "ack", "seq": -1}, "$.seq", "an integer from 0"),
        ({"type": "ack", "seq": 2**63}, "$.seq", "an integer from 0"),
        (
            {"type": "task-approve", "task_id": "t", "approved": 1},
            "$.approved",
            "true or false, got an integer",
        ),
        (
            {"type": "task-approve", "task_id": "t", "approved": "true"},
            "$.approved",
            "true or false, got a string",
        ),
        (
            {
                "type": "task-approve",
                "task_id": "t",
                "approved": True,
                "decision": "perhaps",
            },
            "$.decision",
            "one of approve, reject, run_again, accept, fail",
        ),
        (
            {
                "type": "task-approve",
                "task_id": "t",
                "approved": True,
                "decision": [],
            },
            "$.decision",
            "one of approve, reject, run_again, accept, fail, got an array",
        ),
        (
            {"type": "process-start", "goal": "g", "input": ["a"]},
            "$.input",
            "an object, got an array",
        ),
        (
            {"type": "memory-search", "query": "q", "tags": "abc"},
            "$.tags",
            "an array, got a string",
        ),
        (
            {"type": "memory-search", "query": "q", "tags": ["a", 2]},
            "$.tags[1]",
            "a string, got an integer",
        ),
        (
            {"type": "tool-result", "request_id": "c", "error": 5},
            "$.error",
            "a string or an object, got an integer",
        ),
        (
            {
                "type": "tool-result",
                "request_id": "c",
                "error": {"code": "failed", "message": "m", "argv": ["a", None]},
            },
            "$.error.argv[1]",
            "a string, got null",
        ),
        ({"type": "tool-result", "request_id": "c"}, "$", "result or error"),
        (
            {"type": "tool-result", "request_id": "c", "error": None},
            "$",
            "result or error",
        ),
        (
            {"type": "memory-add", "entity_type": "d", "title": "t", "content": None},
            "$",
            "content or blob",
        ),
        ({"type": "process-pause", "think_process_id": "tp"}, "$.thinkProcessId", "a"),
        ({**_HELLO, "session": "sess_1"}, "$.session", "an object, got a string"),
        ({**_HELLO, "session": []}, "$.session", "an object, got an array"),
        ({**_HELLO, "auth": {}}, "$.auth.token", "a value, got nothing"),
        (
            {**_HELLO, "client": {"capabilities": {"chat": "yes"}}},
            "$.client.capabilities.chat",
            "true or false, got a string",
        ),
        (
            {**_HELLO, "client": {"tools": [{"name": "a"}, {"name": None}]}},
            "$.client.tools[1].name",
            "a string, got null",
        ),
        (
            {**_HELLO, "client": {"tools": {"name": "a"}}},
            "$.client.tools",
            "an array, got an object",
        ),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused_with_its_path(
    frame: dict[str, Any], path: str, expected: str
) -> None:
    refusal = refusal_of(frame)

    assert refusal.code == "bad_message"
    assert refusal.path == path
    assert f"{path}: expected {expected}" in str(refusal)


def test_a_null_stands_for_an_absent_optional_field() -> None:
    frame = {"type": "process-start", "goal": "g", "recipe": None, "input": None}

    assert read(frame) == ProcessStart(goal="g")


@pytest.mark.requirement("003-2-unknown-fields")
def test_unknown_fields_are_ignored_at_every_level() -> None:
    frame = {**_HELLO, "new": 1, "client": {"new": [], "capabilities": {"smell": 1}}}

    assert read(frame) == read(_HELLO)


@pytest.mark.requirement("003-2-duplicate-keys")
def test_the_last_of_duplicate_keys_wins() -> None:
    text = '{"type": "ack", "message": 1, "message": "b", "type": "chat"}'

    assert read(text) == Chat(message="b")


@pytest.mark.requirement("003-2.3-unknown-type")
@pytest.mark.parametrize("name", ["", "process_start", "tool-request", "x" * 5000])
def test_an_unknown_type_is_refused_by_its_own_code(name: str) -> None:
    # tool-request is a message of the Brain, and none of a client.
    refusal = refusal_of({"type": name, "id": "q"})

    assert (refusal.code, refusal.path) == ("unknown_type", "$.type")
    assert refusal.reply_to == "q"
    assert len(str(refusal)) < 200


@pytest.mark.parametrize(
    "frame", [{}, {"type": None}, {"type": 5}, {"type": ["chat"]}, {"type": {}}]
)
def test_a_type_that_is_no_text_is_a_bad_message(frame: dict[str, Any]) -> None:
    refusal = refusal_of({**frame, "id": "q"})

    assert (refusal.code, refusal.path) == ("bad_message", "$.type")
    assert refusal.reply_to == "q"


def test_a_refusal_repeats_no_value_of_the_frame() -> None:
    for frame in (
        {**_HELLO, "auth": {"token": ["s3cr3t"]}},
        {**_HELLO, "auth": "s3cr3t"},
        '{"type": "handshake", "auth": {"token": "s3cr3t" "',
    ):
        refusal = refusal_of(frame)

        assert "s3cr3t" not in repr(refusal) + str(refusal)
