"""What JSON can say, as types."""

from typing import TypeAlias

Json: TypeAlias = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
"""Any JSON value, passed through as it is."""

JsonObject: TypeAlias = dict[str, Json]
