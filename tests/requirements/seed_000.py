"""What the seed on MCP and tool routing asks for (mcp-tool-routing)."""

import sys
from pathlib import Path

if not __package__:  # loaded by its path
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.requirements.model import Requirement

REQUIREMENTS: list[Requirement] = [
    # ----------------------------------------------------------- 1. The Problem
    Requirement(
        "000-1-autonomous-work-on-the-server",
        "1",
        "What the server can do is done while no client is connected",
    ),
    Requirement(
        "000-1-local-files-on-the-client",
        "1",
        "A file of the user's machine is read by the client there",
    ),
    Requirement(
        "000-1-both-sides-server-first",
        "1",
        "A tool that both sides have runs on the server unless told otherwise",
    ),
    # ------------------------------------------------------ 2. Two MCP Runtimes
    Requirement(
        "000-2-server-mcp-client",
        "2",
        "The Brain runs MCP servers of its own and offers their tools",
        deferred="MCP servers",
    ),
    Requirement(
        "000-2-client-mcp-client",
        "2",
        "The client runs local MCP servers and offers their tools to the Brain",
        deferred="MCP servers",
    ),
    Requirement(
        "000-2-existing-mcp-configuration",
        "2",
        "MCP servers the user has configured elsewhere already can be taken over",
        deferred="MCP servers, with the import of existing configurations",
    ),
    Requirement(
        "000-2-client-mcp-credentials",
        "2",
        "An MCP server on the client uses the user's own local credentials",
        deferred="MCP servers",
    ),
    Requirement(
        "000-2-server-credentials",
        "2",
        "API keys and OAuth tokens of tools are kept in the Brain, encrypted",
        divergence="In the Brain's home, not in MongoDB: no other server is needed",
        deferred="stored credentials",
    ),
    Requirement(
        "000-2-client-runtime",
        "2",
        "The client runs beside the Brain; its tools are called over its WebSocket",
    ),
    Requirement(
        "000-2-client-native-tools",
        "2",
        "Without any MCP the client lists, searches, reads and writes files",
    ),
    Requirement(
        "000-2-client-shell",
        "2",
        "The client executes shell commands",
        deferred="native tools: shell, processes and git",
    ),
    Requirement(
        "000-2-client-processes",
        "2",
        "The client starts, watches and ends processes",
        deferred="native tools: shell, processes and git",
    ),
    # --------------------------------------------------------- 3. Tool Registry
    Requirement(
        "000-3-registry-format",
        "3",
        "The registry is a YAML list of tools with the seed's fields",
    ),
    Requirement(
        "000-3-location-types",
        "3",
        "A tool is located on the server, the client or both, and `prefer` chooses",
    ),
    Requirement(
        "000-3-location-shorthands",
        "3",
        "`prefer_server` and `prefer_client` are short for `both` with that side",
    ),
    Requirement(
        "000-3-built-in-tools",
        "3",
        "A tool of `type: built_in` is a part of the Brain",
    ),
    Requirement(
        "000-3-native-tools",
        "3",
        "A tool of `type: native` is run by the client itself, without MCP",
    ),
    Requirement(
        "000-3-mcp-tools",
        "3",
        "A tool with an `mcp_server` is run by that MCP server",
        deferred="MCP servers",
    ),
    Requirement(
        "000-3-web-search",
        "3",
        "`web_search` is a built-in tool of the server",
        deferred="web search",
    ),
    # ----------------------------------------------------------- 4. Tool Router
    Requirement(
        "000-4-router-decides-by-location",
        "4",
        "Server tools go to the server, client tools to a client, others by `prefer`",
    ),
    Requirement(
        "000-4-routing-is-total",
        "4",
        "Every combination of what routing looks at has exactly one decision",
    ),
    Requirement(
        "000-4-client-executes",
        "4",
        "A connected client gets the request, executes it and sends the result back",
    ),
    Requirement(
        "000-4-client-absent-blocked",
        "4",
        "Without the client the task is `blocked` and `blocked_reason` names the tool",
    ),
    Requirement(
        "000-4-others-go-on",
        "4",
        "While a task is blocked the Brain continues with other tasks",
    ),
    Requirement(
        "000-4-requeued-on-connect",
        "4",
        "When the client connects, the tasks blocked for it are re-queued by themselves",
    ),
    Requirement(
        "000-4-both-fallback-to-server",
        "4",
        "A `both` tool that prefers an absent client runs on the server",
    ),
    Requirement(
        "000-4-unknown-tool-fails",
        "4",
        "A task that needs an unknown tool fails with an error",
        divergence="A tool that a client once offered is known: the task waits for it",
    ),
    Requirement(
        "000-4-strategy-only-while-away",
        "4",
        "The strategies apply only as long as the client is not connected",
    ),
    Requirement(
        "000-4-strategy-block",
        "4",
        "`block`, the default of client tools: the task is blocked until one connects",
    ),
    Requirement(
        "000-4-strategy-skip",
        "4",
        "`skip`: the task is skipped and the next one runs",
    ),
    Requirement(
        "000-4-strategy-fallback",
        "4",
        "`fallback`: the `fallback_tool` or the server's own copy runs instead",
    ),
    Requirement(
        "000-4-strategy-queue",
        "4",
        "`queue`, the default of autonomous runs: the task is kept for the next client",
    ),
    Requirement(
        "000-4-strategy-config",
        "4",
        "`offline_strategy` of a registry entry sets the tool's strategy",
    ),
    Requirement(
        "000-4-fallback-tool-config",
        "4",
        "`fallback_tool` of a registry entry names the alternative",
    ),
    Requirement(
        "000-4-strategy-by-process",
        "4",
        "A think process's settings choose the strategy for its tasks",
        deferred="recipes",
    ),
    # ------------------------------------------------- 5. Client Tool Discovery
    Requirement(
        "000-5-client-connected-reports-tools",
        "5",
        "`client_connected` tells the Brain which tools the client has",
        divergence=(
            "The handshake carries the tools already; `client_connected` replaces"
            " them afterwards, since a session must be authenticated first"
        ),
    ),
    Requirement(
        "000-5-client-connected-replaces",
        "5",
        "PROTOCOL 2: a later `client_connected` replaces what the client offered",
    ),
    Requirement(
        "000-5-client-connected-fields",
        "5",
        "`client_connected` has the seed's fields, for native and MCP tools",
    ),
    Requirement(
        "000-5-client-tools-are-merged",
        "5",
        "A client's tools join the server's in the active registry",
    ),
    Requirement(
        "000-5-server-names-are-the-servers",
        "5",
        "Whatever a client reports becomes a tool of the session",
        divergence=(
            "A name that the registry gives to the server is refused with a warning:"
            " a client must not stand in for it unnoticed"
        ),
    ),
    Requirement(
        "000-5-server-tools-always-present",
        "5",
        "The server's tools are there with or without a client",
    ),
    Requirement(
        "000-5-disconnect-removes-client-tools",
        "5",
        "When a client disconnects, its tools leave the active registry",
    ),
    Requirement(
        "000-5-running-tasks-become-blocked",
        "5",
        "When a client disconnects, running tasks that need it become `blocked`",
    ),
    # ----------------------------------------- 6. Tool Routing in the Task Tree
    Requirement(
        "000-6-task-tools",
        "6",
        "A task names the tools it needs",
    ),
    Requirement(
        "000-6-failure-skips-dependents",
        "6",
        "DESIGN 5: what depends on a failed task is skipped, and the rest runs on",
    ),
    Requirement(
        "000-6-execution-target",
        "6",
        "A task may set `execution_target`",
    ),
    Requirement(
        "000-6-target-auto",
        "6",
        "`auto`: the router decides by the tool's location",
    ),
    Requirement(
        "000-6-target-server",
        "6",
        "`server`: the task runs on the server or not at all",
    ),
    Requirement(
        "000-6-target-client",
        "6",
        "`client`: the task runs on a client or not at all",
    ),
    Requirement(
        "000-6-target-any",
        "6",
        "`any`: the task takes whichever side is available",
    ),
    # ------------------------------------------------ 7. Typical Configurations
    Requirement(
        "000-7-scientist",
        "7",
        "The scientist's configuration works: servers on both sides, files, PDFs",
        deferred="MCP servers, with the three configurations as examples",
    ),
    Requirement(
        "000-7-developer",
        "7",
        "The developer's configuration works: servers on both sides, shell, builds",
        deferred="MCP servers, with the three configurations as examples",
    ),
    Requirement(
        "000-7-night-servers",
        "7",
        "At night the Brain's own MCP servers search, read, mail and file issues",
        deferred="MCP servers, with the three configurations as examples",
    ),
    Requirement(
        "000-7-pdf-extraction",
        "7",
        "The client extracts the text of PDF files",
    ),
    Requirement(
        "000-7-autonomous-night",
        "7",
        "Without a client the Brain works through the night with its own tools",
    ),
    Requirement(
        "000-7-night-client-tasks-wait",
        "7",
        "At night tasks that need client tools are blocked until the next connection",
        divergence=(
            "They are `queued`, not `blocked`, as section 4 says of autonomous runs:"
            " the run as a whole goes on"
        ),
    ),
    # -------------------------------------- 8. Think-Process Tool Configuration
    Requirement(
        "000-8-tools-per-side",
        "8",
        "A think process's configuration lists its tools of the server and the client",
        deferred="recipes",
    ),
    Requirement(
        "000-8-only-its-tools",
        "8",
        "A think process has no other tools, and its model sees no others",
        deferred="recipes, and models for what a model sees",
    ),
    Requirement(
        "000-8-auto-fallback",
        "8",
        "`auto_fallback` lets the server stand in for an absent client",
    ),
    Requirement(
        "000-8-auto-fallback-config",
        "8",
        "`auto_fallback` is set by the think process's configuration",
        deferred="recipes",
    ),
    # ------------------------------------------------- 9. Implementation Phases
    Requirement(
        "000-9-hot-reload",
        "9",
        "New MCP servers and tools are there without a restart",
        deferred="MCP servers",
    ),
]
