"""Tools that a client offers, and how a Python function becomes one."""

import functools
import inspect
import types
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

import attrs

from vance_sdk.errors import ToolFailed
from vance_sdk.wire.digest import tool_digest
from vance_sdk.wire.messages import ClientTool, Effect, Json

_SCALARS: Final[dict[object, str]] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
    list: "array",
    tuple: "array",
    dict: "object",
}


@attrs.frozen(kw_only=True)
class LocalTool:
    """A tool that runs where this program runs.

    Attributes:
        name: As the Brain's registry or a workflow names it.
        description: For people and models.
        type: What the seed calls the tool's type.
        effect: What running it twice would do; a proposal, the Brain decides.
        input_schema: JSON Schema of the arguments.
        mcp_server: The local MCP server it belongs to.
        run: Gets the arguments as a dict and returns JSON. A coroutine function
            runs in the event loop, any other function in a worker thread.
    """

    name: str
    description: str = ""
    type: Literal["native", "mcp", "built_in"] = "native"
    effect: Effect = "once"
    input_schema: dict[str, Json] | None = None
    mcp_server: str | None = None
    run: Callable[[dict[str, Json]], object]

    @property
    def is_async(self) -> bool:
        """Whether ``run`` is a coroutine function."""
        return is_async(self.run)

    def offer(self) -> ClientTool:
        """Return what the Brain is told of the tool."""
        tool = ClientTool(
            name=self.name,
            type=self.type,
            description=self.description,
            mcp_server=self.mcp_server,
            input_schema=self.input_schema,
            effect=self.effect,
        )
        return attrs.evolve(tool, digest=tool_digest(tool))


def is_async(function: Callable[..., object]) -> bool:
    """Tell whether calling ``function`` gives a coroutine."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - an object with async call
    )


def tool_from_function(
    function: Callable[..., object],
    *,
    name: str | None = None,
    description: str | None = None,
    effect: Effect = "once",
) -> LocalTool:
    """Make a tool of a function whose parameters are the tool's arguments.

    The name is the function's, the description its docstring, and the schema comes
    from its signature: ``str``, ``bool``, ``int``, ``float``, ``None``, lists,
    dicts, ``Literal`` and unions of them are checked by the Brain; anything else
    may be any JSON.

    Raises:
        TypeError: A parameter that cannot be given by name.
    """
    signature = inspect.signature(function)
    schema = _schema_of(function, signature)

    def bind(args: dict[str, Json]) -> inspect.BoundArguments:
        try:
            return signature.bind(**args)
        except TypeError as error:
            raise ToolFailed(f"bad arguments: {error}") from None

    run: Callable[[dict[str, Json]], object]
    if is_async(function):

        async def run_async(args: dict[str, Json]) -> object:
            bound = bind(args)
            answer: Awaitable[object] = function(*bound.args, **bound.kwargs)  # type: ignore[assignment]
            return await answer

        run = run_async
    else:

        def run_sync(args: dict[str, Json]) -> object:
            bound = bind(args)
            return function(*bound.args, **bound.kwargs)

        run = run_sync
    return LocalTool(
        name=name or _name_of(function),
        description=description or inspect.getdoc(function) or "",
        effect=effect,
        input_schema=schema,
        run=run,
    )


def _name_of(function: Callable[..., object]) -> str:
    if isinstance(function, functools.partial):
        return _name_of(function.func)
    name: str = getattr(function, "__name__", type(function).__name__)
    return name


def _schema_of(
    function: Callable[..., object], signature: inspect.Signature
) -> dict[str, Json]:
    hints = _hints_of(function)
    properties: dict[str, Json] = {}
    required: list[Json] = []
    more = False
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            more = True
            continue
        if parameter.kind in {parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL}:
            message = f"{signature} has a parameter that cannot be given by name"
            raise TypeError(message)
        hint = hints.get(parameter.name, Any)
        schema = json_type(hint)
        if parameter.default is parameter.empty:
            required.append(parameter.name)
        elif isinstance(parameter.default, str | bool | int | float):
            schema["default"] = parameter.default
        properties[parameter.name] = schema
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": more,
    }


def _hints_of(function: Callable[..., object]) -> dict[str, Any]:
    target = function.func if isinstance(function, functools.partial) else function
    if not inspect.isroutine(target):
        target = getattr(target, "__call__", target)  # noqa: B004 - its annotations
    try:
        return get_type_hints(target)
    except (NameError, TypeError, AttributeError):
        # Written for somebody else, such as a name imported for type checkers only.
        return {}


def json_type(hint: object) -> dict[str, Json]:
    """Return the JSON Schema of an annotation; ``{}`` where there is none."""
    origin, args = get_origin(hint), get_args(hint)
    if hint in _SCALARS:
        return {"type": _SCALARS[hint]}
    if origin is Literal:
        return {"enum": list(args)}
    if origin in {Union, types.UnionType}:
        members = [json_type(member) for member in args]
        return {"anyOf": list(members)} if all(members) else {}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        values = json_type(args[1]) if len(args) > 1 else {}
        return {
            "type": "object",
            **({"additionalProperties": values} if values else {}),
        }
    if isinstance(origin, type) and issubclass(origin, Sequence):
        items = json_type(args[0]) if args and _alike(origin, args) else {}
        return {"type": "array", **({"items": items} if items else {})}
    return {}


def _alike(origin: type, args: tuple[object, ...]) -> bool:
    return origin is not tuple or args[1:] == (...,)
