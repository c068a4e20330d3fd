"""Types that several modules share."""

from __future__ import annotations

import enum
import os
from typing import TYPE_CHECKING, Any, Dict, Union

if TYPE_CHECKING:
    from . import _native

#: A value that JSON has.
JSON = Any
#: A message: a dict with a ``role``.
Message = Dict[str, Any]
#: An entry: a dict with a ``type``.
Entry = Dict[str, Any]
StrPath = Union[str, "os.PathLike[str]"]


class Position(enum.Enum):
    """The two positions in a session that are not entries."""

    #: Where the session stands: its current leaf.
    LEAF = "leaf"
    #: Before the first entry.
    START = "start"

    def __repr__(self) -> str:
        return f"Position.{self.name}"


#: An entry's id, an entry, or a :class:`Position`.
At = Union[str, Position, "_native.Entry"]
#: ``"none"``, ``"batched"``, ``"each"``, or the delay of batched syncs in seconds.
Durability = Union[str, float]
