"""What an entry of the manifest is, and where in the seeds it may come from.

    python -m tests.requirements.model

prints as a Markdown table where we differ from the seeds.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from types import MappingProxyType
from typing import Final

import attrs

#: The seeds' sections: number, or title where they have no numbers.
SECTIONS: Final = MappingProxyType(
    {
        "000": {
            "1": "The Problem",
            "2": "Two MCP Runtimes",
            "3": "Tool Registry",
            "4": "Tool Router",
            "5": "Client Tool Discovery",
            "6": "Tool Routing in the Task Tree",
            "7": "Typical Configurations",
            "8": "Think-Process Tool Configuration",
            "9": "Implementation Phases",
        },
        "003": {
            "1": "Core Idea",
            "2": "Client Protocol (WebSocket + JSON)",
            "2.1": "Connection Establishment",
            "2.1a": "URL Query Parameters",
            "2.2": "Handshake",
            "2.3": "Message Types",
            "3.1": "What is a Robot Client?",
            "3.2": "Handshake of a Robot Client",
            "3.3": "Typical Robot Flow",
            "3.4": "Robot Client that brings Tools",
            "4.1": "External Coding Agent as Client",
            "4.2": "MCP Server Mode",
            "4.3": "Dual-Mode",
            "5": "Authentication for External Clients",
            "6": "Client SDK Variants",
            "7": "Examples",
            "8": "Implementation Phases",
            "9": "Summary",
        },
        "004": {
            "Context": "Context",
            "Decision": "Decision",
            "Consequences": "Consequences",
        },
    }
)

#: What is still to come; a deferral begins with one of these.
COMING: Final = (
    "MCP server mode",
    "MCP servers",
    "SDKs in other languages",
    "TLS",
    "approvals",
    "documentation for clients",
    "login",
    "memory",
    "models",
    "native tools",
    "notifications",
    "recipes",
    "schedules",
    "service accounts",
    "stored credentials",
    "the daemon profile",
    "the vault MCP server",
    "the web page",
    "web search",
    "webhooks",
)

_ID: Final = re.compile(r"(\d{3})-([a-z0-9.]+)-[a-z0-9]+(?:-[a-z0-9]+)*")
_TICKET: Final = re.compile(r"#\d|\bissue \d", re.IGNORECASE)


@attrs.frozen
class Requirement:
    """One thing a seed asks for.

    Attributes:
        id: the seed's number, the section in lower case, a slug, joined by dashes.
        section: a key of `SECTIONS` under that seed.
        behaviour: what is so when it is met, in one line.
        divergence: where PROTOCOL.md means something else than the seed, and why.
        deferred: the coming work (one of `COMING`) that will meet it, and perhaps
            more; None for what is built.
    """

    id: str
    section: str
    behaviour: str
    divergence: str | None = attrs.field(default=None, kw_only=True)
    deferred: str | None = attrs.field(default=None, kw_only=True)


def complaints_about_form(seed: str, manifest: Iterable[Requirement]) -> Iterator[str]:
    """What is wrong with the entries of one seed, each in a line."""
    seen: set[str] = set()
    for entry in manifest:
        if entry.id in seen:
            yield f"{entry.id}: stands twice"
        seen.add(entry.id)
        yield from (f"{entry.id}: {what}" for what in _faults(seed, entry))


def _faults(seed: str, entry: Requirement) -> Iterator[str]:
    found = _ID.fullmatch(entry.id)
    if found is None:
        yield "the id is not SEED-SECTION-SLUG"
    else:
        if found[1] != seed:
            yield f"the id does not begin with the file's seed, {seed}"
        if found[2] != entry.section.lower():
            yield f"the id names another section than {entry.section}"
    if entry.section not in SECTIONS[seed]:
        yield f"seed {seed} has no section {entry.section}"
    for name in ("behaviour", "divergence", "deferred"):
        text = getattr(entry, name)
        if text is not None and (not text.strip() or text != " ".join(text.split())):
            yield f"{name} is not one line of text"
    if entry.deferred is not None and not entry.deferred.startswith(COMING):
        yield f"no coming work is called {entry.deferred!r}"
    if _TICKET.search(f"{entry.deferred} {entry.divergence}"):
        yield "a number of an issue says nothing to a reader"


def complaints_about_proof(
    manifest: Iterable[Requirement], marks: dict[str, list[str]]
) -> Iterator[str]:
    """Where manifest and tests do not fit each other, each in a line.

    Args:
        manifest: the entries of all seeds.
        marks: the tests that carry it, by requirement id.
    """
    entries = {entry.id: entry for entry in manifest}
    for name, entry in entries.items():
        proven = marks.get(name)
        if entry.deferred is None and not proven:
            yield f"{name}: no test proves it"
        if entry.deferred is not None and proven:
            yield f"{name}: deferred, but {proven[0]} proves it"
    for name in sorted(set(marks) - set(entries)):
        yield f"{name}: {marks[name][0]} proves it, but no seed asks for it"


def manifests() -> dict[str, list[Requirement]]:
    """The entries of each seed, by its number."""
    from tests.requirements import seed_000, seed_003, seed_004

    return {
        "000": seed_000.REQUIREMENTS,
        "003": seed_003.REQUIREMENTS,
        "004": seed_004.REQUIREMENTS,
    }


def divergences() -> Iterator[tuple[str, str]]:
    """The rows of "where we differ": what a seed asks for, what we do instead."""
    for manifest in manifests().values():
        for entry in manifest:
            if entry.divergence is not None:
                asked = f"`{entry.id}`: {entry.behaviour}"
                yield _cell(asked), _cell(entry.divergence)


def _cell(text: str) -> str:
    return text.replace("|", r"\|")


if __name__ == "__main__":
    sys.stdout.write("| requirement | what we do instead, and why |\n| --- | --- |\n")
    sys.stdout.writelines(f"| {asked} | {ours} |\n" for asked, ours in divergences())
