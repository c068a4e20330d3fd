"""The exceptions of treering.

All of them are :class:`TreeringError`. A program that treats errors differently looks at the class or at ``code``, which
never changes; the message may.
"""

from __future__ import annotations

from typing import Any, Dict, Optional, Tuple, Type

__all__ = [
    "ConflictError",
    "FormatError",
    "InvalidError",
    "NotFoundError",
    "ReadOnlyError",
    "StorageError",
    "TreeringError",
]


class TreeringError(Exception):
    """The reason why an operation failed.

    The facts that the message names are in ``fields``, and can be read as attributes: ``error.entry``.
    """

    message: str
    #: The stable name of the error, for example ``"unknown_entry"``.
    code: str
    fields: Dict[str, Any]
    #: Whether the same call may succeed later.
    is_retryable: bool
    #: The number of the error in the operating system.
    os_error: Optional[int]

    def __init__(
        self,
        message: str,
        code: str = "other",
        fields: Optional[Dict[str, Any]] = None,
        is_retryable: bool = False,
        os_error: Optional[int] = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.fields = dict(fields or {})
        self.is_retryable = is_retryable
        self.os_error = os_error

    def __getattr__(self, name: str) -> Any:
        fields = self.__dict__.get("fields", {})
        if name in fields:
            return fields[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __str__(self) -> str:
        return self.message

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.message!r}, code={self.code!r})"

    def __reduce__(self) -> Tuple[Type[TreeringError], Tuple[Any, ...]]:
        return type(self), (self.message, self.code, self.fields, self.is_retryable, self.os_error)


class NotFoundError(TreeringError, LookupError):
    """The file, the session or the entry does not exist."""


class ConflictError(TreeringError):
    """The state is not the one that the call requires: another program, or an earlier call, has changed it."""


class InvalidError(TreeringError, ValueError):
    """An argument that is not valid."""


class ReadOnlyError(TreeringError):
    """The session can be read, but not written."""


class FormatError(TreeringError, ValueError):
    """The content of a file, or a result, is invalid."""


class StorageError(TreeringError):
    """The disk, the network, the server or the database failed."""
