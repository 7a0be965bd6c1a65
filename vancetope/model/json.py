"""JSON values and the one way they are written in the store."""

from typing import TypeAlias, cast

import orjson

Json: TypeAlias = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
JsonObject: TypeAlias = dict[str, Json]


def dumps(value: Json) -> str:
    """The canonical text of a value: UTF-8, sorted keys, no spaces."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def is_deeper(value: Json, levels: int) -> bool:
    """Whether a value nests objects and lists more than `levels` deep."""
    level = [value]
    for _ in range(levels):
        level = [
            child
            for parent in level
            if isinstance(parent, dict | list)
            for child in (parent.values() if isinstance(parent, dict) else parent)
        ]
        if not level:
            return False
    return any(isinstance(parent, dict | list) for parent in level)


def loads(text: str | bytes) -> Json:
    """The value of a JSON text.

    Raises:
        orjson.JSONDecodeError: the text is not JSON (a `ValueError`).
    """
    return cast("Json", orjson.loads(text))
