"""Messages as dataclasses, for programs that prefer attributes to keys.

>>> message = typed_message({"role": "user", "content": "Name a color.", "timestamp": 1})
>>> message.role, message.text
('user', 'Name a color.')
>>> isinstance(message, UserMessage)
True

:meth:`treering.Context.typed` returns the messages of a context in this form. Every class keeps the dict that it was
made of in ``raw``, with all members that agents write beside those that are named here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Union

__all__ = [
    "AssistantMessage",
    "BashExecution",
    "Block",
    "ImageBlock",
    "OtherBlock",
    "OtherMessage",
    "SummaryMessage",
    "SystemMessage",
    "TextBlock",
    "ThinkingBlock",
    "ToolCallBlock",
    "ToolResultMessage",
    "TypedMessage",
    "UserMessage",
    "typed_message",
]


@dataclass(frozen=True)
class TextBlock:
    """A text."""

    text: str


@dataclass(frozen=True)
class ThinkingBlock:
    """Thinking of a model."""

    thinking: str
    signature: Optional[str] = None


@dataclass(frozen=True)
class ImageBlock:
    """An image: its bytes in base64, and their type."""

    data: str
    mime_type: str


@dataclass(frozen=True)
class ToolCallBlock:
    """A call of a tool."""

    id: str
    name: str
    arguments: Dict[str, Any]


@dataclass(frozen=True)
class OtherBlock:
    """A block of another type."""

    raw: Dict[str, Any]


Block = Union[TextBlock, ThinkingBlock, ImageBlock, ToolCallBlock, OtherBlock]


@dataclass(frozen=True)
class _Message:
    role: str
    #: Unix milliseconds.
    timestamp: Optional[int]
    raw: Dict[str, Any] = field(repr=False)


@dataclass(frozen=True)
class _Content(_Message):
    content: List[Block]

    @property
    def text(self) -> str:
        """The texts of the message, one below the other."""
        return "\n".join(block.text for block in self.content if isinstance(block, TextBlock))


@dataclass(frozen=True)
class UserMessage(_Content):
    """A message of the user."""


@dataclass(frozen=True)
class SystemMessage(_Content):
    """A system message."""


@dataclass(frozen=True)
class AssistantMessage(_Content):
    """An answer of a model."""

    provider: Optional[str]
    model: Optional[str]
    stop_reason: Optional[str]
    error: Optional[str]

    @property
    def tool_calls(self) -> List[ToolCallBlock]:
        """The calls of tools in the message."""
        return [block for block in self.content if isinstance(block, ToolCallBlock)]


@dataclass(frozen=True)
class ToolResultMessage(_Content):
    """The result of a tool call."""

    tool_call_id: str
    tool_name: str
    is_error: bool


@dataclass(frozen=True)
class BashExecution(_Message):
    """A command that the user ran."""

    command: str
    output: str
    exit_code: Optional[int]


@dataclass(frozen=True)
class SummaryMessage(_Message):
    """The summary of a compaction, or of a branch that was left."""

    summary: str


@dataclass(frozen=True)
class OtherMessage(_Content):
    """A message of an extension, or of a role that treering does not know."""


TypedMessage = Union[
    UserMessage,
    SystemMessage,
    AssistantMessage,
    ToolResultMessage,
    BashExecution,
    SummaryMessage,
    OtherMessage,
]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _optional(value: Any) -> Optional[str]:
    return value if isinstance(value, str) else None


def _number(value: Any) -> Optional[int]:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _block(raw: Any) -> Block:
    if not isinstance(raw, dict):
        return OtherBlock({"value": raw})
    kind = raw.get("type")
    if kind == "text":
        return TextBlock(_text(raw.get("text")))
    if kind == "thinking":
        return ThinkingBlock(_text(raw.get("thinking")), _optional(raw.get("thinkingSignature")))
    if kind == "image" and isinstance(raw.get("data"), str):
        return ImageBlock(raw["data"], _text(raw.get("mimeType")))
    if kind == "toolCall" and isinstance(raw.get("arguments"), dict):
        return ToolCallBlock(_text(raw.get("id")), _text(raw.get("name")), raw["arguments"])
    return OtherBlock(raw)


def _blocks(content: Any) -> List[Block]:
    if isinstance(content, str):
        return [TextBlock(content)]
    return [_block(raw) for raw in content] if isinstance(content, list) else []


def typed_message(raw: Dict[str, Any]) -> TypedMessage:
    """Return a message as a dataclass. Members that are missing or of another type are empty, or None."""
    role, timestamp = _text(raw.get("role")), _number(raw.get("timestamp"))
    if role == "bashExecution":
        command, output = _text(raw.get("command")), _text(raw.get("output"))
        return BashExecution(role, timestamp, raw, command, output, _number(raw.get("exitCode")))
    if role in ("compactionSummary", "branchSummary"):
        return SummaryMessage(role, timestamp, raw, _text(raw.get("summary")))
    content = _blocks(raw.get("content"))
    if role == "user":
        return UserMessage(role, timestamp, raw, content)
    if role == "system":
        return SystemMessage(role, timestamp, raw, content)
    if role == "assistant":
        return AssistantMessage(
            role,
            timestamp,
            raw,
            content,
            _optional(raw.get("provider")),
            _optional(raw.get("model")),
            _optional(raw.get("stopReason")),
            _optional(raw.get("errorMessage")),
        )
    if role == "toolResult":
        call, name = _text(raw.get("toolCallId")), _text(raw.get("toolName"))
        return ToolResultMessage(role, timestamp, raw, content, call, name, raw.get("isError") is True)
    return OtherMessage(role, timestamp, raw, content)
