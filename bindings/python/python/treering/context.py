"""Contexts: what a model sees of a session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple, Union, overload

from . import _native
from ._types import Message
from .reports import ContextRepair, ProviderRequest
from .typed import TypedMessage, typed_message

__all__ = ["Context", "Tool", "active_context"]


@dataclass(frozen=True)
class Tool:
    """A tool that the model may call; ``parameters`` is a JSON schema."""

    name: str
    description: str
    parameters: Dict[str, Any]


class Context:
    """The messages that a model sees at one position of a session, and its settings.

    The messages are made when they are first asked for. They are plain dicts, which may be changed: that changes
    neither the session nor what :meth:`to_anthropic` and the others give.
    """

    __slots__ = ("_messages", "_native")

    def __init__(self, native: _native.Context) -> None:
        self._native = native
        self._messages: Optional[List[Message]] = None

    @property
    def messages(self) -> List[Message]:
        """The messages as dicts."""
        if self._messages is None:
            self._messages = self._native.dicts_of_messages()
        return self._messages

    def typed(self) -> List[TypedMessage]:
        """Return the messages as dataclasses, by role."""
        return [typed_message(message) for message in self._native.dicts_of_messages()]

    @property
    def entries(self) -> List[str]:
        """The ids of the entries that the messages come from, one for each message."""
        return self._native.entries

    @property
    def model(self) -> Optional[Tuple[Optional[str], Optional[str]]]:
        """The provider and the model that the session uses here."""
        return self._native.model

    @property
    def thinking_level(self) -> str:
        """The thinking level that the session uses here."""
        return self._native.thinking_level

    def to_json(self) -> bytes:
        """Return messages, model and thinking level as JSON."""
        return self._native.to_json()

    def to_llm(self, *, strict: bool = True) -> Tuple[List[Message], List[ContextRepair]]:
        """Return the messages as providers accept them: only roles that they know, every call with its result."""
        messages, repairs = self._native.to_llm(strict)
        return messages, [ContextRepair(**it) for it in repairs]

    def to_anthropic(
        self,
        *,
        system: Optional[str] = None,
        model: Optional[str] = None,
        provider: Optional[str] = None,
        tools: Sequence[Tool] = (),
        cache: bool = False,
    ) -> ProviderRequest:
        """Return the request for Anthropic's Messages API; ``cache`` marks what should be cached."""
        return _request(*self._native.to_anthropic(_options(system, model, provider, tools, cache)))

    def to_openai(
        self,
        *,
        system: Optional[str] = None,
        model: Optional[str] = None,
        provider: Optional[str] = None,
        tools: Sequence[Tool] = (),
    ) -> ProviderRequest:
        """Return the request for OpenAI's Chat Completions API."""
        return _request(*self._native.to_openai_chat(_options(system, model, provider, tools, False)))

    def to_openai_responses(
        self,
        *,
        system: Optional[str] = None,
        model: Optional[str] = None,
        provider: Optional[str] = None,
        tools: Sequence[Tool] = (),
    ) -> ProviderRequest:
        """Return the request for OpenAI's Responses API."""
        options = _options(system, model, provider, tools, False)
        return _request(*self._native.to_openai_responses(options))

    def __len__(self) -> int:
        return len(self._native)

    def __iter__(self) -> Iterator[Message]:
        return iter(self.messages)

    @overload
    def __getitem__(self, index: int) -> Message: ...

    @overload
    def __getitem__(self, index: slice) -> List[Message]: ...

    def __getitem__(self, index: Union[int, slice]) -> Union[Message, List[Message]]:
        return self.messages[index]

    def __reduce__(self) -> Tuple[Callable[[_native.Context], Context], Tuple[_native.Context]]:
        return Context, (self._native,)

    def __repr__(self) -> str:
        return f"<Context of {len(self)} messages>"


def _options(
    system: Optional[str],
    model: Optional[str],
    provider: Optional[str],
    tools: Sequence[Tool],
    cache: bool,
) -> Dict[str, Any]:
    return {
        "system": system,
        "model": None if model is None else (provider, model),
        "tools": [(tool.name, tool.description, tool.parameters) for tool in tools],
        "cache": cache,
    }


def _request(body: Dict[str, Any], repairs: List[Dict[str, Any]]) -> ProviderRequest:
    return ProviderRequest(body, [ContextRepair(**it) for it in repairs])


def active_context(path: Any) -> Context:
    """Read the context of a session file from its end, without reading the rest of a large file."""
    return Context(_native.active_context(path))
