"""JSON values and the one way they are written in the store."""

from typing import TypeAlias, cast

import orjson

Json: TypeAlias = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
JsonObject: TypeAlias = dict[str, Json]


def dumps(value: Json) -> str:
    """The canonical text of a value: UTF-8, sorted keys, no spaces."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def loads(text: str | bytes) -> Json:
    """The value of a JSON text.

    Raises:
        orjson.JSONDecodeError: the text is not JSON (a `ValueError`).
    """
    return cast("Json", orjson.loads(text))
