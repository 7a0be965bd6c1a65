"""What the seed on the client protocol asks for (client-protocol).

Entries of section 2 that begin with "PROTOCOL 2" make precise what the seed leaves
open; the seed itself asks for no more than WebSocket and JSON there.
"""

import sys
from pathlib import Path

if not __package__:  # loaded by its path
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.requirements.model import Requirement

REQUIREMENTS: list[Requirement] = [
    # ------------------------------------------------------------- 1. Core Idea
    Requirement(
        "003-1-one-protocol",
        "1",
        "Whoever connects, human or machine, speaks the same protocol",
    ),
    Requirement(
        "003-1-websocket-and-json-suffice",
        "1",
        "A program that only speaks WebSocket and JSON can use the Brain",
    ),
    # ------------------------------------ 2. Client Protocol (WebSocket + JSON)
    Requirement(
        "003-2-text-frames",
        "2",
        "PROTOCOL 2: frames are text; a binary one closes the connection with 1003",
    ),
    Requirement(
        "003-2-frame-size",
        "2",
        "PROTOCOL 1: the first frame has at most 64 KiB, later ones 1 MiB",
    ),
    Requirement(
        "003-2-not-an-object",
        "2",
        "PROTOCOL 2: text that is not a JSON object is a `bad_message`",
    ),
    Requirement(
        "003-2-depth",
        "2",
        "PROTOCOL 2: JSON nested too deep is a `bad_message`",
    ),
    Requirement(
        "003-2-no-nan",
        "2",
        "PROTOCOL 2: NaN and infinities are a `bad_message`",
    ),
    Requirement(
        "003-2-no-coercion",
        "2",
        "PROTOCOL 2: a scalar of the wrong kind is refused, never converted",
    ),
    Requirement(
        "003-2-duplicate-keys",
        "2",
        "PROTOCOL 2: of duplicate keys the last one counts",
    ),
    Requirement(
        "003-2-unknown-fields",
        "2",
        "PROTOCOL 2: fields nobody knows are ignored",
    ),
    Requirement(
        "003-2-seed-only-client",
        "2",
        "PROTOCOL: who knows only the seed's messages gets no others",
    ),
    # --------------------------------------------- 2.1 Connection Establishment
    Requirement(
        "003-2.1-websocket-url",
        "2.1",
        "A client opens `/api/ws?profile=...&name=...`",
    ),
    Requirement(
        "003-2.1-url",
        "2.1",
        "Whichever of the Brain's URLs a client is given leads it there",
    ),
    Requirement(
        "003-2.1-wss",
        "2.1",
        "A client speaks `wss://` to a Brain whose certificate it trusts",
    ),
    Requirement(
        "003-2.1-tls",
        "2.1",
        "The Brain's own port speaks TLS",
        deferred="TLS; until then a proxy in front of the Brain does it",
    ),
    Requirement(
        "003-2.1-connect",
        "2.1",
        "A client connects in the seed's order: socket, handshake, session",
    ),
    Requirement(
        "003-2.1-handshake-first",
        "2.1",
        "The first message is the handshake; anything else is refused",
    ),
    Requirement(
        "003-2.1-connection-establishment",
        "2.1",
        "The Brain answers `session_created` or `session_resumed`",
    ),
    Requirement(
        "003-2.1-connection-breaks",
        "2.1",
        "A connection may break instead of saying `disconnect`; nothing is lost",
    ),
    Requirement(
        "003-2.1-reconnect",
        "2.1",
        "A client whose connection broke comes back as the same client",
    ),
    # ------------------------------------------------ 2.1a URL Query Parameters
    Requirement(
        "003-2.1a-profile-default",
        "2.1a",
        "Without `profile` it is `web`",
    ),
    Requirement(
        "003-2.1a-profile-shape",
        "2.1a",
        "A `profile` matches ^[a-z][a-z0-9_-]{0,31}$ or the connection is refused",
    ),
    Requirement(
        "003-2.1a-profile-open-string",
        "2.1a",
        "Any `profile` of that shape is accepted; `daemon` means nothing special",
    ),
    Requirement(
        "003-2.1a-name-shape",
        "2.1a",
        "A `name` matches ^[a-zA-Z0-9_-]{1,64}$ or the connection is refused",
    ),
    Requirement(
        "003-2.1a-name-identifies",
        "2.1a",
        "`name` is optional and says which client this is",
        divergence="It is also the address in `tool@client`, so that one can be meant",
    ),
    Requirement(
        "003-2.1a-known-before-the-first-message",
        "2.1a",
        "Profile and name are known to the Brain before the first message",
    ),
    Requirement(
        "003-2.1a-recipe-profile-block",
        "2.1a",
        "The profile selects the recipe's profile block for what is started",
        deferred="recipes",
    ),
    Requirement(
        "003-2.1a-unknown-profile-cascade",
        "2.1a",
        "Unknown profiles resolve to `profiles.default`, then to the recipe's base",
        deferred="recipes",
    ),
    Requirement(
        "003-2.1a-profile-foot",
        "2.1a",
        "`foot` is the terminal client, with shell and file tools",
        deferred="recipes, and native tools for the shell",
    ),
    Requirement(
        "003-2.1a-profile-web",
        "2.1a",
        "`web` is the browser, without local tools",
        deferred="recipes",
    ),
    Requirement(
        "003-2.1a-profile-mobile",
        "2.1a",
        "`mobile` has restricted tools and shorter sessions",
        deferred="recipes",
    ),
    Requirement(
        "003-2.1a-client-manual",
        "2.1a",
        "A client's own agent.md guides the work done for it",
        deferred="models",
    ),
    Requirement(
        "003-2.1a-daemon-tool-provider",
        "2.1a",
        "A `daemon` client provides tools and nothing else",
        deferred="the daemon profile; the seed only reserves it",
    ),
    Requirement(
        "003-2.1a-session-bound-to-profile",
        "2.1a",
        "A session keeps the profile of the connection that made it",
    ),
    Requirement(
        "003-2.1a-connection-profile",
        "2.1a",
        "A process keeps the profile in `connectionProfile`",
    ),
    Requirement(
        "003-2.1a-profile-mismatch",
        "2.1a",
        "Resuming with another profile is refused with 409 Profile Mismatch",
    ),
    Requirement(
        "003-2.1a-session-list-profile",
        "2.1a",
        "`session-list` tells each session's profile",
    ),
    Requirement(
        "003-2.1a-auto-resume-by-profile",
        "2.1a",
        "A bootstrap without a session id resumes sessions of its own profile only",
    ),
    Requirement(
        "003-2.1a-type-and-profile-orthogonal",
        "2.1a",
        "`profile` and `client.type` are independent and never checked for each other",
    ),
    # ------------------------------------------------------------ 2.2 Handshake
    Requirement(
        "003-2.2-handshake",
        "2.2",
        "In its handshake a client says who it is, what it can do and what it offers",
    ),
    Requirement(
        "003-2.2-handshake-fields",
        "2.2",
        "The handshake has the seed's fields",
    ),
    Requirement(
        "003-2.2-session-answer-fields",
        "2.2",
        "`session_created` and `session_resumed` have the seed's fields",
    ),
    Requirement(
        "003-2.2-token-verified",
        "2.2",
        "`auth.token` must verify; otherwise there is no session",
    ),
    Requirement(
        "003-2.2-offered-tools",
        "2.2",
        "The handshake's `tools` can be called; an empty list means none",
    ),
    Requirement(
        "003-2.2-resume",
        "2.2",
        "`session.resume` goes on with that session",
    ),
    Requirement(
        "003-2.2-resume-replays",
        "2.2",
        "PROTOCOL 2: a resume with `last_seq` brings what was missed, in order",
    ),
    Requirement(
        "003-2.2-session-project",
        "2.2",
        "`session.project_id` makes a new session in that project",
    ),
    Requirement(
        "003-2.2-session-optional",
        "2.2",
        "Without `session` the newest free session is resumed, or one is made",
    ),
    Requirement(
        "003-2.2-active-processes",
        "2.2",
        "The answer lists the open processes with title, status and pending tasks",
    ),
    Requirement(
        "003-2.2-server-tools",
        "2.2",
        "The answer lists the names of the server's tools",
    ),
    Requirement(
        "003-2.2-capability-chat",
        "2.2",
        "A client with `chat: false` gets no chat",
        deferred="models",
    ),
    Requirement(
        "003-2.2-capability-approval",
        "2.2",
        "A client with `approval: false` is not asked for approvals",
        deferred="approvals",
    ),
    Requirement(
        "003-2.2-capability-streaming",
        "2.2",
        "A client with `streaming: false` gets no streamed results",
        deferred="models",
    ),
    Requirement(
        "003-2.2-capability-notifications",
        "2.2",
        "A client with `notifications: false` gets no notifications",
    ),
    # -------------------------------------------------------- 2.3 Message Types
    Requirement(
        "003-2.3-inbound-types",
        "2.3",
        "Every type from client to Brain exists with the seed's fields",
        divergence=(
            "`memory-add` has `entity_type` and `memory-link` has `relation_type`:"
            " in a flat frame `type` is the message's own"
        ),
    ),
    Requirement(
        "003-2.3-outbound-types",
        "2.3",
        "Every type from Brain to client exists with the seed's fields",
    ),
    Requirement(
        "003-2.3-unknown-type",
        "2.3",
        "A type nobody knows is answered `unknown_type`, and the connection stays",
    ),
    Requirement(
        "003-2.3-not-built-yet",
        "2.3",
        "A type whose capability is still to come is answered `unavailable`",
    ),
    Requirement(
        "003-2.3-process-start",
        "2.3",
        "`process-start` starts a workflow on its input and is acknowledged",
    ),
    Requirement(
        "003-2.3-process-start-goal",
        "2.3",
        "`process-start` with a goal alone starts a process that plans by itself",
        deferred="models",
    ),
    Requirement(
        "003-2.3-process-continue",
        "2.3",
        "`process-continue` executes the next task",
        divergence=(
            "It resumes a paused process; only a recipe with `advance: step` goes task"
            " by task, since most runs should not wait for somebody to push"
        ),
    ),
    Requirement(
        "003-2.3-process-continue-step",
        "2.3",
        "Under `advance: step` each `process-continue` releases exactly one task",
        deferred="recipes",
    ),
    Requirement(
        "003-2.3-process-pause",
        "2.3",
        "`process-pause` pauses a process",
    ),
    Requirement(
        "003-2.3-process-stop",
        "2.3",
        "`process-stop` stops a process",
    ),
    Requirement(
        "003-2.3-process-steer",
        "2.3",
        "`process-steer` gives a running process new information",
        deferred="models",
    ),
    Requirement(
        "003-2.3-task-list",
        "2.3",
        "`task-list` is answered with the projected tasks in execution order",
    ),
    Requirement(
        "003-2.3-task-move",
        "2.3",
        "`task-move` puts a task before another one",
    ),
    Requirement(
        "003-2.3-task-cancel",
        "2.3",
        "`task-cancel` cancels a task",
    ),
    Requirement(
        "003-2.3-task-rerun",
        "2.3",
        "`task-rerun` runs a task again",
    ),
    Requirement(
        "003-2.3-task-approve",
        "2.3",
        "`task-approve` accepts or rejects a task's result",
        deferred="approvals",
    ),
    Requirement(
        "003-2.3-memory-add",
        "2.3",
        "`memory-add` adds an entity with title, content and tags",
        deferred="memory",
    ),
    Requirement(
        "003-2.3-memory-search",
        "2.3",
        "`memory-search` is answered with a `memory-result`",
        deferred="memory",
    ),
    Requirement(
        "003-2.3-memory-link",
        "2.3",
        "`memory-link` relates two entities",
        deferred="memory",
    ),
    Requirement(
        "003-2.3-tool-result",
        "2.3",
        "`tool-result` gives the result of the call that its `request_id` names",
    ),
    Requirement(
        "003-2.3-tool-result-error",
        "2.3",
        "A `tool-result` may carry an error instead, with a code or as plain text",
        divergence="The seed has no way to say that a tool failed",
    ),
    Requirement(
        "003-2.3-once-is-unknown",
        "2.3",
        "PROTOCOL 3: a call that may have acted is `unknown`, never run a second time",
    ),
    Requirement(
        "003-2.3-chat",
        "2.3",
        "`chat` reaches the Brain and is answered by `chat`",
        deferred="models",
    ),
    Requirement(
        "003-2.3-disconnect",
        "2.3",
        "`disconnect` ends the connection cleanly",
    ),
    Requirement(
        "003-2.3-process-status",
        "2.3",
        "`process-status` tells each change of a process; the last has its result",
    ),
    Requirement(
        "003-2.3-task-update",
        "2.3",
        "`task-update` tells each change of a task, with its result",
    ),
    Requirement(
        "003-2.3-tool-request",
        "2.3",
        "`tool-request` asks the client for a tool by `tool_name` with `args`",
    ),
    Requirement(
        "003-2.3-approval-request",
        "2.3",
        "`approval-request` asks for an approval with a preview of the result",
        deferred="approvals",
    ),
    Requirement(
        "003-2.3-streaming",
        "2.3",
        "`stream-chunk` and `stream-end` carry a model's output as it comes",
        deferred="models",
    ),
    Requirement(
        "003-2.3-notification",
        "2.3",
        "`notification` tells a person something that needs no answer",
    ),
    Requirement(
        "003-2.3-error",
        "2.3",
        "`error` has a stable code and a message, and answers the frame it is about",
    ),
    # ---------------------------------------------- 3.1 What is a Robot Client?
    Requirement(
        "003-3.1-robot-uses-the-brain",
        "3.1",
        "A robot connects, starts a workflow by itself and waits for the result",
    ),
    Requirement(
        "003-3.1-another-brain",
        "3.1",
        "Another Brain connects to exchange knowledge",
        deferred="memory",
    ),
    # ------------------------------------------ 3.2 Handshake of a Robot Client
    Requirement(
        "003-3.2-robot-handshake-fields",
        "3.2",
        "The seed's handshake of a robot is understood as it stands",
    ),
    Requirement(
        "003-3.2-service-token",
        "3.2",
        "A robot authenticates with the token of a service account",
        deferred="service accounts",
    ),
    Requirement(
        "003-3.2-robot-handshake",
        "3.2",
        "A robot's session is in the project its handshake names",
    ),
    # --------------------------------------------------- 3.3 Typical Robot Flow
    Requirement(
        "003-3.3-robot-starts-workflow",
        "3.3",
        "A robot starts a workflow by `workflow_id` with structured `input`",
    ),
    Requirement(
        "003-3.3-tool-request-to-robot",
        "3.3",
        "A task that needs the robot's tool sends the request to the robot",
    ),
    Requirement(
        "003-3.3-approval-goes-to-a-human",
        "3.3",
        "What needs approval is blocked and a human is notified",
        deferred="approvals, and notifications for the human",
    ),
    Requirement(
        "003-3.3-robot-reads-result",
        "3.3",
        "A robot gets `process-status` and `task-update` and reads the result",
    ),
    Requirement(
        "003-3.3-robot-chunks",
        "3.3",
        "A robot receives `stream-chunk`",
        divergence=(
            "One that says `streaming: false`, as the seed's own robot does, gets none"
        ),
        deferred="models",
    ),
    Requirement(
        "003-3.3-robot-disconnect-closes-session",
        "3.3",
        "When a robot disconnects, its session closes",
        divergence=(
            "After `disconnect`; a connection that only broke may be resumed for a"
            " while, so that its calls are not lost"
        ),
    ),
    Requirement(
        "003-3.3-brain-continues-autonomously",
        "3.3",
        "A process the robot started goes on when the robot has left",
    ),
    # --------------------------------------- 3.4 Robot Client that brings Tools
    Requirement(
        "003-3.4-robot-brings-tools",
        "3.4",
        "A robot registers tools of its own, and its tasks can use them",
    ),
    Requirement(
        "003-3.4-tool-field",
        "3.4",
        "A request to a robot names its tool in `tool`",
        divergence="In `tool_name`, as the table of 2.3 has it; `tool` is a slip",
    ),
    Requirement(
        "003-3.4-robot-tools-stay-its-own",
        "3.4",
        "The Brain can use a robot's tools in its tasks",
        divergence=(
            "In those the robot's own session started: neither the owner's work nor"
            " another robot's is handed to it"
        ),
    ),
    Requirement(
        "003-3.4-only-while-connected",
        "3.4",
        "A robot's tools can be used as long as it is connected",
    ),
    # -------------------------------------- 4.1 External Coding Agent as Client
    Requirement(
        "003-4.1-coding-agent",
        "4.1",
        "A coding agent gives a goal and tools, and gets back what was thought out",
        deferred="models",
    ),
    # ------------------------------------------------------ 4.2 MCP Server Mode
    Requirement(
        "003-4.2-start-engine",
        "4.2",
        "The MCP tool `vance_start_engine` starts a process",
        deferred="MCP server mode",
    ),
    Requirement(
        "003-4.2-get-result",
        "4.2",
        "The MCP tool `vance_get_result` gives status and result",
        deferred="MCP server mode",
    ),
    Requirement(
        "003-4.2-search-knowledge",
        "4.2",
        "The MCP tool `vance_search_knowledge` searches the memory",
        deferred="MCP server mode, and memory for what is searched",
    ),
    # ------------------------------------------------------------ 4.3 Dual-Mode
    Requirement(
        "003-4.3-both-at-once",
        "4.3",
        "WebSocket and MCP server are offered at the same time",
        deferred="MCP server mode",
    ),
    Requirement(
        "003-4.3-cron-and-webhooks",
        "4.3",
        "Cron jobs, webhooks and linked systems come in as clients",
        deferred="schedules, and webhooks",
    ),
    Requirement(
        "003-4.3-web-ui",
        "4.3",
        "There is a web page for people, if wanted",
        deferred="the web page",
    ),
    # ----------------------------------- 5. Authentication for External Clients
    Requirement(
        "003-5-jwt-for-humans",
        "5",
        "Human clients authenticate with a JWT",
    ),
    Requirement(
        "003-5-human-login",
        "5",
        "Human clients log in over OAuth2",
        deferred="login, with the service accounts",
    ),
    Requirement(
        "003-5-internal-token",
        "5",
        "Cron and linker authenticate with an internal service token",
    ),
    Requirement(
        "003-5-internal-token-stays-inside",
        "5",
        "An internal token is of no use from outside",
        deferred="service accounts, with the rules for every credential",
    ),
    Requirement(
        "003-5-webhook-secret",
        "5",
        "A webhook authenticates with a shared secret in a header",
        deferred="webhooks",
    ),
    Requirement(
        "003-5-robot-api-key",
        "5",
        "Robots authenticate with the API key of a service account",
        deferred="service accounts",
    ),
    Requirement(
        "003-5-robot-client-credentials",
        "5",
        "Robots may use OAuth2 client credentials instead",
        deferred="service accounts",
    ),
    Requirement(
        "003-5-mcp-api-key",
        "5",
        "The MCP server asks for an API key",
        deferred="MCP server mode",
    ),
    Requirement(
        "003-5-account-fields",
        "5",
        "A service account has id, tenant, name, permissions, maker and date",
        divergence="No `tenant_id`: one Brain has one owner",
        deferred="service accounts",
    ),
    Requirement(
        "003-5-account-roles",
        "5",
        "Per project an `editor` starts and edits processes, a `viewer` only reads",
        deferred="service accounts",
    ),
    Requirement(
        "003-5-account-key-protected",
        "5",
        "An account's API key is stored encrypted",
        divergence="Stored as a hash: nobody, the Brain included, can read it back",
        deferred="service accounts",
    ),
    # --------------------------------------------------- 6. Client SDK Variants
    Requirement(
        "003-6-python-sdk",
        "6",
        "There is an SDK for Python scripts, notebooks and pipelines",
    ),
    Requirement(
        "003-6-sdk-typescript",
        "6",
        "There is a TypeScript SDK for human clients",
        deferred="SDKs in other languages",
    ),
    Requirement(
        "003-6-sdk-lite",
        "6",
        "There is a light TypeScript SDK that wraps protocol and messages only",
        deferred="SDKs in other languages",
    ),
    Requirement(
        "003-6-sdk-java",
        "6",
        "There is a Java SDK",
        deferred="SDKs in other languages",
    ),
    Requirement(
        "003-6-raw-protocol-documented",
        "6",
        "For every other language the raw protocol is documented",
        deferred="documentation for clients",
    ),
    # -------------------------------------------------------------- 7. Examples
    Requirement(
        "003-7-python-script",
        "7",
        "The seed's Python script connects, starts a workflow and disconnects",
    ),
    Requirement(
        "003-7-python-memory-add",
        "7",
        "The seed's Python script adds papers to the memory from their files",
        deferred="memory",
    ),
    Requirement(
        "003-7-wait-for-result",
        "7",
        "A client waits for a process's result, with a timeout",
    ),
    Requirement(
        "003-7-n8n-node",
        "7",
        "An n8n node starts a workflow and waits for its result",
        deferred="SDKs in other languages",
    ),
    Requirement(
        "003-7-github-action",
        "7",
        "A GitHub Action starts a workflow with inputs and may wait for it",
        deferred="SDKs in other languages, with the GitHub Action",
    ),
    # ------------------------------------------------- 8. Implementation Phases
    Requirement(
        "003-8-robot-documentation",
        "8",
        "There are documentation and examples for robot clients",
        deferred="documentation for clients",
    ),
    # --------------------------------------------------------------- 9. Summary
    Requirement(
        "003-9-access-without-websocket",
        "9",
        "MCP gives lightweight access without a WebSocket",
        deferred="MCP server mode",
    ),
]
