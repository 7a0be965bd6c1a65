"""`brain.yaml`: the limits of PROTOCOL section 1, each with default and meaning."""

from pathlib import Path
from typing import Final, TypeAlias, TypeVar

import attrs

from vancetope.config.durations import Duration
from vancetope.config.fields import Fields, fields_at
from vancetope.config.yamlio import read_yaml
from vancetope.errors import ConfigError

T = TypeVar("T", bound=attrs.AttrsInstance)
Setting: TypeAlias = Duration | int | str | tuple[str, ...]

_MIB: Final = 1024 * 1024
_ANY_INT: Final = (1, 2**31 - 1)


def _doc(
    text: str, low: int = _ANY_INT[0], high: int = _ANY_INT[1]
) -> dict[str, object]:
    return {"doc": text, "low": low, "high": high}


@attrs.frozen(kw_only=True)
class GatewayConfig:
    """The edge: where it listens and what a connection may do."""

    host: str = attrs.field(default="127.0.0.1", metadata=_doc("Address to listen on."))
    port: int = attrs.field(
        default=7717, metadata=_doc("Port to listen on; 0 picks a free one.", 0, 65535)
    )
    allowed_hosts: tuple[str, ...] = attrs.field(
        default=(),
        metadata=_doc("Names for the Host header besides the address listened on."),
    )
    allowed_origins: tuple[str, ...] = attrs.field(
        default=(),
        metadata=_doc("Web origins besides its own that may connect from a browser."),
    )
    handshake_timeout: Duration = attrs.field(
        default=Duration(10_000),
        metadata=_doc("Time a new connection has to send its handshake."),
    )
    first_frame_bytes: int = attrs.field(
        default=65_536,
        metadata=_doc("Largest first frame (the handshake).", 1024, 16 * _MIB),
    )
    frame_bytes: int = attrs.field(
        default=_MIB, metadata=_doc("Largest later frame.", 1024, 16 * _MIB)
    )
    json_depth: int = attrs.field(
        default=64, metadata=_doc("Deepest JSON nesting in a frame.", 8, 256)
    )
    pre_auth_sockets: int = attrs.field(
        default=64,
        metadata=_doc(
            "Connections before authentication; a new one evicts the oldest."
        ),
    )
    ping_interval: Duration = attrs.field(
        default=Duration(10_000), metadata=_doc("Time between pings to a client.")
    )
    dead_after: Duration = attrs.field(
        default=Duration(25_000),
        metadata=_doc("Silence after which a connection is dead."),
    )
    resume_window: Duration = attrs.field(
        default=Duration(900_000),
        metadata=_doc("Time a dropped session keeps its dispatched calls."),
    )
    send_timeout: Duration = attrs.field(
        default=Duration(20_000),
        metadata=_doc("Time one frame may take to leave; then the client is too slow."),
    )
    shutdown_grace: Duration = attrs.field(
        default=Duration(3000),
        metadata=_doc("Time connections have to close when the Brain stops."),
    )


@attrs.frozen(kw_only=True)
class LimitsConfig:
    """How much work at once, and how long it may take."""

    window: int = attrs.field(
        default=16, metadata=_doc("Calls in flight to one client.", 1, 1024)
    )
    parallel_tasks: int = attrs.field(
        default=16, metadata=_doc("Tasks the server works on at once.", 1, 1024)
    )
    inline_result_bytes: int = attrs.field(
        default=262_144,
        metadata=_doc("Largest result that travels inside a frame.", 1024, 16 * _MIB),
    )
    call_timeout: Duration = attrs.field(
        default=Duration(600_000),
        metadata=_doc("Time from dispatch to result when a task names none."),
    )


@attrs.frozen(kw_only=True)
class BrainConfig:
    """All of `brain.yaml`."""

    gateway: GatewayConfig = GatewayConfig()
    limits: LimitsConfig = LimitsConfig()


_SECTIONS: Final[dict[str, type[attrs.AttrsInstance]]] = {
    "gateway": GatewayConfig,
    "limits": LimitsConfig,
}


def load_brain_config(path: Path) -> BrainConfig:
    """Read `brain.yaml`; without the file every setting has its default.

    Raises:
        ConfigError: the first thing that is wrong in it.
    """
    config, problems = read_brain_config(path)
    if problems:
        raise problems[0]
    return config


def read_brain_config(path: Path) -> tuple[BrainConfig, list[ConfigError]]:
    """The settings and all that is wrong with them; a wrong one has its default."""
    problems: list[ConfigError] = []
    if not path.exists():
        return BrainConfig(), problems
    try:
        document = read_yaml(path)
    except ConfigError as error:
        return BrainConfig(), [error]
    top = fields_at(document, (), document.data, problems)
    if top is None:
        return BrainConfig(), problems
    top.only(_SECTIONS)
    config = BrainConfig(
        gateway=_section(GatewayConfig, top.inside("gateway")),
        limits=_section(LimitsConfig, top.inside("limits")),
    )
    _check_pairs(config, top)
    return config, sorted(problems, key=lambda problem: problem.line or 0)


def setting_rows() -> list[tuple[str, str, str]]:
    """`(name, default, meaning)` of every setting, in the order of the file."""
    rows = []
    for section, kind in _SECTIONS.items():
        for field in attrs.fields(kind):
            shown = "[]" if field.default == () else str(field.default)
            rows.append((f"{section}.{field.name}", shown, str(field.metadata["doc"])))
    return rows


def _section(kind: type[T], fields: Fields | None) -> T:
    if fields is None:
        return kind()
    known = {field.name: field for field in attrs.fields(kind)}
    fields.only(known)
    given: dict[str, Setting] = {}
    for name, field in known.items():
        value = _setting(fields, name, field.default, field.metadata)
        if value is not None:
            given[name] = value
    return kind(**given)


def _setting(
    fields: Fields, name: str, default: Setting, metadata: dict[str, int]
) -> Setting | None:
    match default:
        case Duration():
            ms = fields.duration(name)
            return None if ms is None else Duration(ms)
        case int():
            return fields.integer(name, low=metadata["low"], high=metadata["high"])
        case str():
            return fields.text(name)
        case _:
            return fields.names(name)


def _check_pairs(config: BrainConfig, top: Fields) -> None:
    gateway = config.gateway
    section = top.inside("gateway")
    if section is None:
        return
    if gateway.dead_after <= gateway.ping_interval:
        section.report(
            "dead_after" if section.has("dead_after") else "ping_interval",
            "a connection would be dead before it is asked for a sign of life",
            value=f"dead_after {gateway.dead_after}, ping {gateway.ping_interval}",
            fix="Make dead_after at least twice ping_interval.",
        )
    if gateway.first_frame_bytes > gateway.frame_bytes:
        first = section.has("first_frame_bytes")
        section.report(
            "first_frame_bytes" if first else "frame_bytes",
            "the first frame would be allowed more than the later ones",
            value=f"{gateway.first_frame_bytes} over {gateway.frame_bytes}",
            fix="Make frame_bytes at least first_frame_bytes.",
        )
