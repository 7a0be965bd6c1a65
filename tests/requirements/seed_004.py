"""What the seed on vault-neutral MCP registration asks for (ADR 0119)."""

import sys
from pathlib import Path

if not __package__:  # loaded by its path
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.requirements.model import Requirement

LATER = "the vault MCP server"

REQUIREMENTS: list[Requirement] = [
    # ------------------------------------------------------------------ Context
    Requirement(
        "004-context-client-kinds",
        "Context",
        "Claude Code, Cursor, Gemini CLI and generic MCP clients can be registered",
        deferred=LATER,
    ),
    Requirement(
        "004-context-follows-the-workspace",
        "Context",
        "MCP clients follow the current workspace state, not that of their setup",
        deferred=LATER,
    ),
    # ----------------------------------------------------------------- Decision
    Requirement(
        "004-decision-explicit-stdio-entry",
        "Decision",
        "Registration writes an explicit stdio entry: command, server, WS_UI_PORT=9711",
        divergence="The server is Python's, so the command is not Node's",
        deferred=LATER,
    ),
    Requirement(
        "004-decision-no-vault-path",
        "Decision",
        "A written registration holds no VAULT_PATH and is tied to no vault",
        deferred=LATER,
    ),
    Requirement(
        "004-decision-resolved-at-call-time",
        "Decision",
        "Which vaults there are is resolved at each tool call",
        deferred=LATER,
    ),
    Requirement(
        "004-decision-environment-wins",
        "Decision",
        "VAULT_PATH and VAULT_PATHS, where set, win over the file",
        deferred=LATER,
    ),
    Requirement(
        "004-decision-vaults-file",
        "Decision",
        "Without those variables the server reads `vaults.json`",
        deferred=LATER,
    ),
    Requirement(
        "004-decision-active-first",
        "Decision",
        "`active_vault` comes first",
        deferred=LATER,
    ),
    Requirement(
        "004-decision-mounted-unless-false",
        "Decision",
        "Every entry of `vaults` is included unless it says `mounted: false`",
        deferred=LATER,
    ),
    Requirement(
        "004-decision-unique-paths",
        "Decision",
        "Of equal paths one counts, and blank paths are ignored",
        deferred=LATER,
    ),
    Requirement(
        "004-decision-agents-md",
        "Decision",
        "The vault context returns each mounted root's AGENTS.md with the summary",
        deferred=LATER,
    ),
    Requirement(
        "004-decision-list-vaults",
        "Decision",
        "`list_vaults` names the active set and whether each root has guidance",
        deferred=LATER,
    ),
    Requirement(
        "004-decision-no-switch-vault",
        "Decision",
        "There is no tool that switches vaults for a session",
        deferred=LATER,
    ),
    # ------------------------------------------------------------- Consequences
    Requirement(
        "004-consequences-survives-switches",
        "Consequences",
        "A registration survives vault switches and mounts without reconnecting",
        deferred=LATER,
    ),
    Requirement(
        "004-consequences-all-mounted-vaults",
        "Consequences",
        "One session works across all mounted vaults, with the rules of each",
        deferred=LATER,
    ),
    Requirement(
        "004-consequences-manual-override",
        "Consequences",
        "A user may fix the set of vaults by VAULT_PATH or VAULT_PATHS",
        deferred=LATER,
    ),
]
