"""One connection, over real sockets; what depends on time, in virtual time."""

import socket

import attrs
import pytest
import trio

from tests.sdk.fake_brain import TOKEN, FakeBrain, MemoryNet, SocketPipe
from vance_sdk.connection import Connection, open_connection
from vance_sdk.errors import (
    BrainRefused,
    ConnectionLost,
    HandshakeRefused,
    MessageTooBig,
    Timeout,
    UnexpectedAnswer,
)
from vance_sdk.wire.limits import FIRST_FRAME_BYTES, HANDSHAKE_SECONDS
from vance_sdk.wire.messages import (
    Chat,
    ClientConnected,
    ClientInfo,
    ClientTool,
    Error,
    Notification,
    Outbound,
    ProcessPause,
    ProcessStart,
    ProcessStatus,
    SessionChoice,
    SessionResumed,
)

ROBOT = ClientInfo(type="robot", name="test", is_human=False)


def note(message: str) -> Notification:
    return Notification(level="info", message=message)


@pytest.mark.requirement("003-2.1-connect", "003-2.2-handshake")
async def test_the_handshake_says_who_connects_and_the_answer_is_kept(
    brain: FakeBrain,
) -> None:
    tool = ClientTool(name="docker_inspect", type="native", description="Look inside")

    async with open_connection(
        brain.url,
        token=TOKEN,
        client=ROBOT,
        tools=[tool],
        session=SessionChoice(project_id="proj_5"),
        profile="ci-bot",
        name="desk",
    ) as connection:
        opened = connection.opened

    assert brain.resource == "/api/ws?profile=ci-bot&name=desk"
    assert brain.handshakes[0].client == attrs.evolve(ROBOT, tools=(tool,))
    assert brain.handshakes[0].proto == "vtp/1"
    assert (opened.session_id, opened.project.id) == ("sess_1", "proj_5")


@pytest.mark.requirement("003-2.2-resume")
async def test_an_earlier_session_is_resumed(brain: FakeBrain) -> None:
    async with open_connection(brain.url, token=TOKEN, client=ROBOT) as first:
        session_id = first.session_id

    choice = SessionChoice(resume=session_id)
    async with open_connection(
        brain.url, token=TOKEN, client=ROBOT, session=choice
    ) as second:
        assert isinstance(second.opened, SessionResumed)
        assert second.session_id == session_id


async def test_a_wrong_token_is_refused_by_code(brain: FakeBrain) -> None:
    with pytest.raises(HandshakeRefused) as refused:
        async with open_connection(brain.url, token="wrong", client=ROBOT):
            raise NotImplementedError

    assert refused.value.code == "unauthorized"
    assert "wrong" not in str(refused.value)


async def test_a_refusal_by_close_code_alone_says_the_same(net: MemoryNet) -> None:
    brain = net.brain
    brain.refusal = (note("bye"), 4411)  # type: ignore[assignment]

    with pytest.raises(HandshakeRefused) as refused:
        async with open_connection(
            brain.url, token=TOKEN, client=ROBOT, connect=net.connect
        ):
            raise NotImplementedError

    assert (refused.value.code, refused.value.close_code) == ("409", 4411)


async def test_nobody_there_is_a_lost_connection() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"

        with pytest.raises(ConnectionLost, match="cannot reach"):
            async with open_connection(url, token=TOKEN, client=ROBOT):
                raise NotImplementedError


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (b"HTTP/1.1 400 Bad\r\nContent-Length: 11\r\n\r\nbad profile", "http_400"),
        (b"HTTP/1.1 401 No\r\n\r\n", "unauthorized"),
        (b"HTTP/1.1 503 Later\r\nContent-Length: 0\r\n\r\n", "http_503"),
    ],
)
async def test_an_http_answer_is_a_refusal_with_its_status(
    nursery: trio.Nursery, answer: bytes, code: str
) -> None:
    async def talk(stream: trio.SocketStream) -> None:
        async with stream:
            await stream.receive_some()
            await stream.send_all(answer)

    [listener] = await trio.open_tcp_listeners(0, host="127.0.0.1")
    nursery.start_soon(trio.serve_listeners, talk, [listener])
    url = f"http://127.0.0.1:{listener.socket.getsockname()[1]}"

    with trio.fail_after(5), pytest.raises(HandshakeRefused) as refused:
        async with open_connection(url, token=TOKEN, client=ROBOT):
            raise NotImplementedError

    assert refused.value.code == code
    if code == "http_400":
        assert "bad profile" in refused.value.message


async def test_a_server_that_hangs_up_at_once_is_a_lost_connection(
    nursery: trio.Nursery,
) -> None:
    # Without the watch for the TCP end this waits for CONNECT_SECONDS.
    [listener] = await trio.open_tcp_listeners(0, host="127.0.0.1")
    nursery.start_soon(trio.serve_listeners, trio.SocketStream.aclose, [listener])
    url = f"http://127.0.0.1:{listener.socket.getsockname()[1]}"

    with trio.fail_after(5), pytest.raises(ConnectionLost):
        async with open_connection(url, token=TOKEN, client=ROBOT):
            raise NotImplementedError


async def test_a_handshake_without_an_answer_ends_in_time(
    net: MemoryNet, autojump_clock: trio.testing.MockClock
) -> None:
    net.brain.answers_handshake = False
    began = trio.current_time()

    with pytest.raises(ConnectionLost, match="no answer to the handshake"):
        async with open_connection(
            net.brain.url, token=TOKEN, client=ROBOT, connect=net.connect
        ):
            raise NotImplementedError

    waited = trio.current_time() - began
    assert HANDSHAKE_SECONDS < waited < HANDSHAKE_SECONDS + 5


async def test_tools_too_big_for_the_first_frame_follow_after_it(
    brain: FakeBrain,
) -> None:
    schema = {"type": "object", "description": "x" * FIRST_FRAME_BYTES}
    tool = ClientTool(name="big", input_schema=dict(schema), digest="d")

    async with open_connection(brain.url, token=TOKEN, client=ROBOT, tools=[tool]):
        [connected] = brain.received(ClientConnected)

    assert brain.handshakes[0].client.tools == (ClientTool(name="big", digest="d"),)
    assert isinstance(connected, ClientConnected)
    assert connected.available_tools == (tool,)


async def test_a_handshake_waits_past_what_it_does_not_know(net: MemoryNet) -> None:
    net.brain.greeting = '{"type": "from-the-future"}'

    async with open_connection(
        net.brain.url, token=TOKEN, client=ROBOT, connect=net.connect
    ) as connection:
        assert connection.session_id == "sess_1"


async def test_a_server_that_is_no_brain_is_told_apart(net: MemoryNet) -> None:
    net.brain.greeting = "220 smtp.example.com ESMTP"

    with pytest.raises(HandshakeRefused, match="not a Brain"):
        async with open_connection(
            net.brain.url, token=TOKEN, client=ROBOT, connect=net.connect
        ):
            raise NotImplementedError


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (Error(code="forbidden", message="not these tools"), HandshakeRefused),
        (note("what?"), None),
    ],
)
async def test_an_offer_that_follows_may_be_refused(
    brain: FakeBrain, answer: Error, kind: type[Exception] | None
) -> None:
    brain.errors["client_connected"] = answer
    tool = ClientTool(name="big", description="x" * FIRST_FRAME_BYTES)

    connecting = open_connection(brain.url, token=TOKEN, client=ROBOT, tools=[tool])
    if kind is None:
        async with connecting:
            return
    with pytest.raises(kind, match="not these tools"):
        async with connecting:
            raise NotImplementedError


async def test_a_token_too_long_for_the_first_frame_is_refused_here(
    brain: FakeBrain,
) -> None:
    with pytest.raises(HandshakeRefused, match="over the limit"):
        async with open_connection(
            brain.url, token="x" * FIRST_FRAME_BYTES, client=ROBOT
        ):
            raise NotImplementedError

    assert brain.handshakes == []


async def test_a_binary_frame_closes_1003(brain: FakeBrain) -> None:
    async with open_connection(brain.url, token=TOKEN, client=ROBOT) as connection:
        pipe = brain.current.pipe
        assert isinstance(pipe, SocketPipe)
        await pipe.socket.send_message(b"binary")
        with trio.fail_after(5):
            await connection.closed.wait()

    assert connection.lost is not None
    assert connection.lost.code == 1003


# ------------------------------------------------------------------- requests


async def test_answers_find_their_requests_in_any_order(brain: FakeBrain) -> None:
    answers: dict[str, Outbound] = {}

    async with open_connection(brain.url, token=TOKEN, client=ROBOT) as connection:

        async def pause(name: str) -> None:
            message = ProcessPause(think_process_id=name)
            answers[name] = await connection.request(message)

        async with trio.open_nursery() as nursery:
            for number in range(20):
                nursery.start_soon(pause, f"tp_{number}")

    for name, answer in answers.items():
        assert isinstance(answer, ProcessStatus)
        assert answer.think_process_id == name
    assert len(answers) == 20


async def test_an_error_is_raised_with_its_code_message_and_context(
    brain: FakeBrain,
) -> None:
    brain.errors["chat"] = Error(
        code="unavailable", message="no model", context={"fix": "add one"}
    )

    async with open_connection(brain.url, token=TOKEN, client=ROBOT) as connection:
        with pytest.raises(BrainRefused) as refused:
            await connection.request(Chat(message="hello"))

    assert refused.value.code == "unavailable"
    assert refused.value.context == {"fix": "add one"}
    assert str(refused.value) == "unavailable: no model (add one)"


async def test_no_answer_is_a_timeout_and_a_late_one_is_dropped(
    net: MemoryNet, autojump_clock: trio.testing.MockClock
) -> None:
    brain, seen = net.brain, list[Outbound]()
    brain.ignored.add("process-pause")

    async with open_connection(
        brain.url,
        token=TOKEN,
        client=ROBOT,
        connect=net.connect,
        on_frame=seen.append,
    ) as connection:
        began = trio.current_time()
        with pytest.raises(Timeout, match="process-pause within 7 s"):
            await connection.request(ProcessPause(think_process_id="tp"), timeout=7)
        waited = trio.current_time() - began
        late = ProcessStatus(think_process_id="tp", status="paused", reply_to="c0")
        await brain.push(late, durable=False)
        answer = await connection.request(ProcessStart(goal="next"))

    assert 7 <= waited < 7.5
    assert isinstance(answer, ProcessStatus)
    assert answer.status == "running"
    # It is news like any other, to nobody's request.
    assert seen == [late]


async def test_an_end_wakes_every_request_and_says_it_was_sent(
    brain: FakeBrain,
) -> None:
    brain.ignored.add("process-pause")
    lost: list[ConnectionLost] = []

    async with open_connection(brain.url, token=TOKEN, client=ROBOT) as connection:

        async def pause() -> None:
            try:
                await connection.request(ProcessPause(think_process_id="tp"))
            except ConnectionLost as error:
                lost.append(error)

        async with trio.open_nursery() as nursery:
            for _ in range(5):
                nursery.start_soon(pause)
            await brain.until(5, ProcessPause)
            await brain.drop()

        with pytest.raises(ConnectionLost) as after:
            await connection.request(ProcessPause(think_process_id="tp"))

    assert [error.sent for error in lost] == [True] * 5
    assert after.value.sent is False


async def test_the_close_code_and_reason_are_told(brain: FakeBrain) -> None:
    async with open_connection(brain.url, token=TOKEN, client=ROBOT) as connection:
        await brain.close(4409, "replaced")
        with trio.fail_after(5):
            await connection.closed.wait()

    assert connection.lost is not None
    assert (connection.lost.code, connection.lost.reason) == (4409, "replaced")


async def test_an_answer_that_cannot_be_read_fails_its_request_only(
    net: MemoryNet,
) -> None:
    net.brain.ignored.add("process-pause")

    async with open_connection(
        net.brain.url, token=TOKEN, client=ROBOT, connect=net.connect
    ) as connection:
        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def answer() -> None:
                [frame] = await net.brain.until(1, ProcessPause)
                text = '{"type": "from-the-future", "reply_to": "' + str(frame.id)
                await net.pipes[0].send(text + '"}')

            with pytest.raises(UnexpectedAnswer, match="unknown"):
                await connection.request(ProcessPause(think_process_id="tp"))

        await net.pipes[0].send('{"type": "from-the-future"}')
        await net.pipes[0].send("not JSON")
        await connection.request(ProcessStart(goal="goes on"))


async def test_a_message_over_the_limit_is_not_sent(brain: FakeBrain) -> None:
    async with open_connection(brain.url, token=TOKEN, client=ROBOT) as connection:
        with pytest.raises(MessageTooBig):
            await connection.request(Chat(message="x" * 1024 * 1024))
        await connection.request(ProcessStart(goal="goes on"))

    assert brain.received(Chat) == []


async def test_a_frame_over_the_limit_ends_the_connection_soon(
    brain: FakeBrain,
) -> None:
    async with open_connection(brain.url, token=TOKEN, client=ROBOT) as connection:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(brain.push, note("x" * 3 * 1024 * 1024))
            with trio.fail_after(5):
                await connection.closed.wait()
            nursery.cancel_scope.cancel()

    assert connection.lost is not None
    assert connection.lost.code == 1009


async def test_news_comes_in_order(brain: FakeBrain) -> None:
    seen: list[Outbound] = []

    async with open_connection(
        brain.url, token=TOKEN, client=ROBOT, on_frame=seen.append
    ) as connection:
        for number in range(50):
            await brain.push(note(str(number)))
        await connection.request(ProcessStart(goal="a fence"))

    texts = [frame.message for frame in seen if isinstance(frame, Notification)]
    assert texts == [str(number) for number in range(50)]


async def test_what_the_body_raises_comes_out_as_it_is(brain: FakeBrain) -> None:
    with pytest.raises(KeyError, match="mine"):
        async with open_connection(brain.url, token=TOKEN, client=ROBOT):
            raise KeyError("mine")


async def test_cancelling_the_body_leaves_no_task_and_no_wait(
    net: MemoryNet, autojump_clock: trio.testing.MockClock
) -> None:
    with trio.move_on_after(3) as scope:
        async with open_connection(
            net.brain.url, token=TOKEN, client=ROBOT, connect=net.connect
        ):
            await trio.sleep_forever()

    assert scope.cancelled_caught
    assert net.pipes[0].client_closed is not None


@pytest.mark.requirement("003-2.3-disconnect")
async def test_disconnect_says_goodbye_and_the_brain_closes(brain: FakeBrain) -> None:
    async with open_connection(brain.url, token=TOKEN, client=ROBOT) as connection:
        await connection.disconnect()

    assert connection.lost is not None
    assert connection.lost.code == 1000
    assert [frame.TYPE for frame in brain.frames] == ["disconnect"]


async def test_disconnect_from_a_brain_that_does_not_close_is_bounded(
    net: MemoryNet, autojump_clock: trio.testing.MockClock
) -> None:
    net.brain.ignored.add("disconnect")

    async with open_connection(
        net.brain.url, token=TOKEN, client=ROBOT, connect=net.connect
    ) as connection:
        net.brain.drops_on.clear()
        with trio.fail_after(3):
            await connection.disconnect()


# ------------------------------------------------------------------- liveness


async def lost_after(net: MemoryNet, **options: object) -> tuple[Connection, float]:
    began = trio.current_time()
    async with open_connection(
        net.brain.url,
        token=TOKEN,
        client=ROBOT,
        connect=net.connect,
        **options,  # type: ignore[arg-type]
    ) as connection:
        with trio.move_on_after(600):
            await connection.closed.wait()
        return connection, trio.current_time() - began


async def test_an_idle_connection_stays_open_by_its_pings(
    net: MemoryNet, autojump_clock: trio.testing.MockClock
) -> None:
    connection, lived = await lost_after(net)

    assert lived == 600
    assert connection.lost is not None
    assert connection.lost.reason == "closed here"
    assert 55 <= len(net.pipes[0].pings) <= 60


async def test_pings_of_the_brain_are_answered(brain: FakeBrain) -> None:
    async with open_connection(brain.url, token=TOKEN, client=ROBOT):
        pipe = brain.current.pipe
        assert isinstance(pipe, SocketPipe)
        with trio.fail_after(5):
            await pipe.socket.ping()


async def test_a_brain_silent_for_25_seconds_is_dead(
    net: MemoryNet, autojump_clock: trio.testing.MockClock
) -> None:
    net.answers_pings = False

    connection, lived = await lost_after(net)

    assert 25 <= lived <= 26
    assert connection.lost is not None
    assert connection.lost.reason == "silent for 25 s"
    assert net.pipes[0].aborted
    # One ping is on its way at a time.
    assert len(net.pipes[0].pings) == 1


async def test_a_machine_that_was_suspended_does_not_trust_its_connection(
    net: MemoryNet, autojump_clock: trio.testing.MockClock
) -> None:
    def wall() -> float:
        slept = 3600 if trio.current_time() - began > 42 else 0
        return trio.current_time() + slept

    began = trio.current_time()
    connection, lived = await lost_after(net, wall=wall)

    assert 42 < lived <= 52
    assert connection.lost is not None
    assert connection.lost.reason == "this machine was suspended"
