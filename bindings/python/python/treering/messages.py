"""Typed builders for messages and entries.

A message is a dict with a ``role``. The functions here make dicts with all members that agents need; a dict written by
hand works as well.

>>> user("What is in this directory?")["role"]
'user'
>>> answer = assistant(
...     "Let me look.",
...     provider="acme", model="large-1",
...     tool_calls=[tool_call("call-1", "bash", {"command": "ls"})],
... )
>>> answer["stopReason"]
'toolUse'
"""

from __future__ import annotations

import base64
import time
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence, Union

from ._types import Entry as EntryDict
from ._types import JSON, Message

__all__ = [
    "Cost",
    "Image",
    "Summary",
    "TokenUsage",
    "assistant",
    "bash_execution",
    "custom",
    "custom_message",
    "image",
    "model_change",
    "system",
    "text",
    "thinking",
    "thinking_level_change",
    "tool_call",
    "tool_result",
    "user",
]

Block = Dict[str, Any]
Content = Union[str, Sequence[Union[str, Block]]]


@dataclass(frozen=True)
class Cost:
    """The price of a request in dollars."""

    input: float = 0.0
    output: float = 0.0
    cache_read: float = 0.0
    cache_write: float = 0.0

    @property
    def total(self) -> float:
        """The total price."""
        return self.input + self.output + self.cache_read + self.cache_write

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
        )


@dataclass(frozen=True)
class TokenUsage:
    """The tokens of a request. Without ``cost`` the price is unknown, which differs from zero."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: Optional[Cost] = None

    def __add__(self, other: TokenUsage) -> TokenUsage:
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return TokenUsage(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
            cost,
        )

    def to_dict(self) -> Dict[str, Any]:
        """Return the usage as messages hold it."""
        cost = self.cost or Cost()
        prices: Dict[str, Any] = {
            "input": cost.input,
            "output": cost.output,
            "cacheRead": cost.cache_read,
            "cacheWrite": cost.cache_write,
            "total": cost.total,
        }
        if self.cost is None:
            prices["unknown"] = True
        return {
            "input": self.input,
            "output": self.output,
            "cacheRead": self.cache_read,
            "cacheWrite": self.cache_write,
            "totalTokens": self.input + self.output + self.cache_read + self.cache_write,
            "cost": prices,
        }


@dataclass(frozen=True)
class Summary:
    """A summary of a conversation, and the usage of the request that wrote it, which statistics count."""

    text: str
    usage: Optional[TokenUsage] = None


@dataclass(frozen=True)
class Image:
    """An image: its bytes and their type."""

    data: bytes
    mime_type: str = "image/png"

    def to_dict(self) -> Block:
        """Return the image as a block."""
        return {"type": "image", "data": base64.b64encode(self.data).decode(), "mimeType": self.mime_type}


def text(value: str) -> Block:
    """Return a block of text."""
    return {"type": "text", "text": value}


def image(data: bytes, mime_type: str = "image/png") -> Block:
    """Return a block with an image."""
    return Image(data, mime_type).to_dict()


def thinking(value: str, signature: Optional[str] = None) -> Block:
    """Return a block of thinking."""
    block: Block = {"type": "thinking", "thinking": value}
    if signature is not None:
        block["thinkingSignature"] = signature
    return block


def tool_call(id: str, name: str, arguments: Dict[str, Any]) -> Block:
    """Return a block that calls a tool."""
    return {"type": "toolCall", "id": id, "name": name, "arguments": arguments}


def _blocks(content: Content) -> List[Block]:
    if isinstance(content, str):
        return [text(content)] if content else []
    return [text(block) if isinstance(block, str) else block for block in content]


def _now(timestamp: Optional[int]) -> int:
    return int(time.time() * 1000) if timestamp is None else timestamp


def user(
    content: Content, *, images: Sequence[Image] = (), timestamp: Optional[int] = None
) -> Message:
    """Return a message of the user."""
    if images:
        content = [*_blocks(content), *(it.to_dict() for it in images)]
    value: Any = content if isinstance(content, str) else _blocks(content)
    return {"role": "user", "content": value, "timestamp": _now(timestamp)}


def system(content: str, *, timestamp: Optional[int] = None) -> Message:
    """Return a system message."""
    return {"role": "system", "content": content, "timestamp": _now(timestamp)}


def assistant(
    content: Content = "",
    *,
    provider: str,
    model: str,
    api: str = "",
    tool_calls: Sequence[Block] = (),
    usage: Optional[TokenUsage] = None,
    stop_reason: Optional[str] = None,
    error: Optional[str] = None,
    response_id: Optional[str] = None,
    timestamp: Optional[int] = None,
) -> Message:
    """Return an answer of a model."""
    if stop_reason is None:
        stop_reason = "error" if error is not None else "toolUse" if tool_calls else "stop"
    message: Message = {
        "role": "assistant",
        "content": [*_blocks(content), *tool_calls],
        "api": api,
        "provider": provider,
        "model": model,
        "usage": (usage or TokenUsage()).to_dict(),
        "stopReason": stop_reason,
        "timestamp": _now(timestamp),
    }
    if response_id is not None:
        message["responseId"] = response_id
    if error is not None:
        message["errorMessage"] = error
    return message


def tool_result(
    call_id: str,
    name: str,
    content: Content = "",
    *,
    is_error: bool = False,
    details: JSON = None,
    timestamp: Optional[int] = None,
) -> Message:
    """Return the result of a tool call."""
    message: Message = {
        "role": "toolResult",
        "toolCallId": call_id,
        "toolName": name,
        "content": _blocks(content),
        "isError": is_error,
        "timestamp": _now(timestamp),
    }
    if details is not None:
        message["details"] = details
    return message


def bash_execution(
    command: str,
    output: str,
    *,
    exit_code: Optional[int] = None,
    cancelled: bool = False,
    truncated: bool = False,
    exclude_from_context: bool = False,
    timestamp: Optional[int] = None,
) -> Message:
    """Return a command that the user ran."""
    message: Message = {
        "role": "bashExecution",
        "command": command,
        "output": output,
        "cancelled": cancelled,
        "truncated": truncated,
        "timestamp": _now(timestamp),
    }
    if exit_code is not None:
        message["exitCode"] = exit_code
    if exclude_from_context:
        message["excludeFromContext"] = True
    return message


def custom(custom_type: str, data: JSON = None) -> EntryDict:
    """Return an entry of an extension that the model does not see."""
    entry: EntryDict = {"type": "custom", "customType": custom_type}
    if data is not None:
        entry["data"] = data
    return entry


def custom_message(
    custom_type: str, content: Content, *, display: bool = True, details: JSON = None
) -> EntryDict:
    """Return an entry of an extension that the model sees."""
    entry: EntryDict = {
        "type": "custom_message",
        "customType": custom_type,
        "content": content if isinstance(content, str) else _blocks(content),
        "display": display,
    }
    if details is not None:
        entry["details"] = details
    return entry


def model_change(provider: str, model: str) -> EntryDict:
    """Return an entry that changes the model from here on."""
    return {"type": "model_change", "provider": provider, "modelId": model}


def thinking_level_change(level: str) -> EntryDict:
    """Return an entry that changes the thinking level from here on."""
    return {"type": "thinking_level_change", "thinkingLevel": level}
