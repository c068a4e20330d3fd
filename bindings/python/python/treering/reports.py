"""Reports: the results of operations, as dataclasses.

They can be compared, copied, pickled and turned into dicts (:func:`dataclasses.asdict`).
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Dict, List, Optional, Type, TypeVar

from ._types import Message

_T = TypeVar("_T")
Data = Dict[str, Any]


def build(cls: Type[_T], data: Data, **nested: Any) -> _T:
    """Return a report of a dict; ``nested`` are members that are no plain values."""
    values = {it.name: data[it.name] for it in fields(cls) if it.name not in nested}  # type: ignore[arg-type]
    return cls(**values, **nested)


def _path(value: Optional[str]) -> Optional[Path]:
    return None if value is None else Path(value)


def time_of(milliseconds: Optional[int]) -> Optional[datetime.datetime]:
    """Return a time of the library, Unix milliseconds, as a datetime in UTC."""
    if milliseconds is None:
        return None
    epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
    try:
        return epoch + datetime.timedelta(milliseconds=milliseconds)
    except OverflowError:
        return None


@dataclass(frozen=True)
class Usage:
    """Tokens and money."""

    input: int
    output: int
    cache_read: int
    cache_write: int
    cache_write_1h: int
    total: int
    requests: int
    #: Dollars, as far as the prices are known.
    cost: float
    #: The part of ``cost`` that was computed from a list of prices.
    computed_cost: float
    #: Requests whose price is not known.
    unpriced_requests: int

    @classmethod
    def from_dict(cls, data: Data) -> Usage:
        return build(cls, data)


@dataclass(frozen=True)
class Stats:
    """Counts and usage of a session or a branch."""

    entries: int
    #: The number of messages by role.
    messages: Dict[str, int]
    #: The number of calls by tool.
    tools: Dict[str, int]
    branches: int
    compactions: int
    first: Optional[datetime.datetime]
    last: Optional[datetime.datetime]
    usage: Usage
    active: Usage
    abandoned: Usage
    sidechains: Usage
    by_model: Dict[str, Usage]
    by_purpose: Dict[str, Usage]

    @classmethod
    def from_dict(cls, data: Data) -> Stats:
        names = ("usage", "active", "abandoned", "sidechains")
        nested: Data = {name: Usage.from_dict(data[name]) for name in names}
        for name in ("by_model", "by_purpose"):
            nested[name] = {key: Usage.from_dict(value) for key, value in data[name].items()}
        return build(cls, data, first=time_of(data["first"]), last=time_of(data["last"]), **nested)


@dataclass(frozen=True)
class Branch:
    """A branch: the path to one leaf."""

    leaf: str
    #: The entry at which the branch begins to be its own.
    since: Optional[str]
    time: Optional[datetime.datetime]
    entries: int
    own_entries: int
    usage: Usage
    own_usage: Usage
    is_active: bool
    is_sidechain: bool
    is_counted: bool

    @classmethod
    def from_dict(cls, data: Data) -> Branch:
        usage, own = Usage.from_dict(data["usage"]), Usage.from_dict(data["own_usage"])
        return build(cls, data, usage=usage, own_usage=own, time=time_of(data["time"]))


@dataclass(frozen=True)
class SessionInfo:
    """The facts about a session that lists show."""

    id: str
    path: Path
    agent: str
    name: Optional[str]
    title: str
    cwd: str
    created: Optional[datetime.datetime]
    modified: Optional[datetime.datetime]
    parent_session: Optional[str]
    first_message: str
    entry_count: int
    message_count: int
    branch_count: int
    compaction_count: int
    finding_count: int
    size: int
    tokens: Optional[int]
    cost: Optional[float]
    is_partial: bool

    @classmethod
    def from_dict(cls, data: Data) -> SessionInfo:
        created, modified = time_of(data["created"]), time_of(data["modified"])
        return build(cls, data, path=Path(data["path"]), created=created, modified=modified)


@dataclass(frozen=True)
class Header:
    """The header of a session."""

    id: str
    version: int
    timestamp: str
    cwd: str
    parent_session: Optional[str]

    @classmethod
    def from_dict(cls, data: Data) -> Header:
        return build(cls, data)


@dataclass(frozen=True)
class TreeItem:
    """An entry in a walk over the tree."""

    id: str
    parent: Optional[str]
    kind: Optional[str]
    role: Optional[str]
    depth: int
    children: int
    label: Optional[str]
    label_time: Optional[int]
    bytes: int
    is_sidechain: bool

    @classmethod
    def from_dict(cls, data: Data) -> TreeItem:
        return cls(**data)


@dataclass(frozen=True)
class Finding:
    """A finding: a problem in a session file."""

    code: str
    #: ``"note"``, ``"warning"`` or ``"error"``.
    severity: str
    line: Optional[int]
    entry: Optional[str]
    message: str
    advice: Optional[str]

    @classmethod
    def from_dict(cls, data: Data) -> Finding:
        return build(cls, data)


@dataclass(frozen=True)
class Diagnosis:
    """All findings of a session file."""

    path: Path
    dialect: str
    size: int
    entries: int
    is_healthy: bool
    worst: Optional[str]
    findings: List[Finding]

    @classmethod
    def from_dict(cls, data: Data) -> Diagnosis:
        findings = [Finding.from_dict(it) for it in data["findings"]]
        return build(cls, data, path=Path(data["path"]), findings=findings)


@dataclass(frozen=True)
class Reachability:
    """The entries of a file, and those that can be reached."""

    entries: int
    messages: int
    reachable: int
    path: int


@dataclass(frozen=True)
class Repair:
    """A repair that was done."""

    path: Path
    output: Optional[Path]
    backup: Optional[Path]
    rejects: Optional[Path]
    dialect: str
    before: Reachability
    after: Reachability
    #: The changes, by kind.
    changes: Dict[str, Any]
    contexts_gained: int
    remaining: List[Finding]

    @classmethod
    def from_dict(cls, data: Data) -> Repair:
        nested: Data = {name: _path(data[name]) for name in ("path", "output", "backup", "rejects")}
        nested.update((name, Reachability(**data[name])) for name in ("before", "after"))
        nested["remaining"] = [Finding.from_dict(it) for it in data["remaining"]]
        return build(cls, data, **nested)


@dataclass(frozen=True)
class Upgrade:
    """The upgrade of a file of an older version."""

    old_version: int
    new_version: int
    entries: int
    compactions: int
    backup: Optional[Path]

    @classmethod
    def from_dict(cls, data: Data) -> Upgrade:
        return build(cls, data, backup=_path(data["backup"]))


@dataclass(frozen=True)
class Outcome:
    """The outcome of one kind of entry in a conversion."""

    kind: str
    #: ``"carried"``, ``"adapted"`` or ``"left_out"``.
    outcome: str
    reason: Optional[str]
    count: int


@dataclass(frozen=True)
class ConversionReport:
    """A conversion that was done and verified."""

    source: str
    target: str
    carried: int
    adapted: int
    left_out: int
    outcomes: List[Outcome]
    ends: int
    verified: int

    @classmethod
    def from_dict(cls, data: Data) -> ConversionReport:
        return build(cls, data, outcomes=[Outcome(**it) for it in data["outcomes"]])


@dataclass(frozen=True)
class FileOps:
    """The files that tool calls read, wrote and edited."""

    read: List[str]
    written: List[str]
    edited: List[str]


@dataclass(frozen=True)
class Side:
    """One side of a difference."""

    entries: List[str]
    messages: int
    tokens: int
    usage: Usage
    file_ops: FileOps

    @classmethod
    def from_dict(cls, data: Data) -> Side:
        usage, files = Usage.from_dict(data["usage"]), FileOps(**data["file_ops"])
        return build(cls, data, usage=usage, file_ops=files)


@dataclass(frozen=True)
class Diff:
    """The comparison of two branches since their common ancestor."""

    common_ancestor: Optional[str]
    a: Side
    b: Side

    @classmethod
    def from_dict(cls, data: Data) -> Diff:
        return build(cls, data, a=Side.from_dict(data["a"]), b=Side.from_dict(data["b"]))


@dataclass(frozen=True)
class Piece:
    """A piece of a snippet."""

    text: str
    is_match: bool


@dataclass(frozen=True)
class Hit:
    """An entry that a search found."""

    entry: Optional[str]
    short: str
    kind: Optional[str]
    role: Optional[str]
    part: str
    name: str
    #: ``"active"``, ``"abandoned"``, ``"compacted"``, ``"edited"`` or ``"sidechain"``.
    state: str
    time: Optional[datetime.datetime]
    snippet: str
    pieces: List[Piece]

    @classmethod
    def from_dict(cls, data: Data) -> Hit:
        pieces = [Piece(**it) for it in data["pieces"]]
        return build(cls, data, pieces=pieces, time=time_of(data["time"]))


@dataclass(frozen=True)
class SessionHits:
    """The hits of one session."""

    session: SessionInfo
    hits: List[Hit]
    total: int
    score: int

    @classmethod
    def from_dict(cls, data: Data) -> SessionHits:
        session = SessionInfo.from_dict(data["session"])
        return build(cls, data, session=session, hits=[Hit.from_dict(it) for it in data["hits"]])


@dataclass(frozen=True)
class SearchResult:
    """The hits of many sessions."""

    sessions: List[SessionHits]
    #: Files that could not be read, and why.
    unreadable: Dict[str, str]
    files: int
    bytes: int
    hits: int

    @classmethod
    def from_dict(cls, data: Data) -> SearchResult:
        sessions = [SessionHits.from_dict(it) for it in data["sessions"]]
        unreadable = {it["path"]: it["message"] for it in data["unreadable"]}
        return build(cls, data, sessions=sessions, unreadable=unreadable)


@dataclass(frozen=True)
class UsageRow:
    """The usage of a day, a session, a model, a project or an agent."""

    name: str
    sessions: int
    usage: Usage
    models: Dict[str, Usage]
    first: Optional[datetime.datetime]
    last: Optional[datetime.datetime]

    @classmethod
    def from_dict(cls, data: Data) -> UsageRow:
        models = {name: Usage.from_dict(it) for name, it in data["models"].items()}
        first, last = time_of(data["first"]), time_of(data["last"])
        usage = Usage.from_dict(data["usage"])
        return build(cls, data, usage=usage, models=models, first=first, last=last)


@dataclass(frozen=True)
class UsageReport:
    """The usage of many sessions, each request counted once."""

    rows: List[UsageRow]
    total: UsageRow
    skipped: int

    @classmethod
    def from_dict(cls, data: Data) -> UsageReport:
        rows = [UsageRow.from_dict(it) for it in data["rows"]]
        return build(cls, data, rows=rows, total=UsageRow.from_dict(data["total"]))


@dataclass(frozen=True)
class RedactedPlace:
    """A field in which secrets were replaced."""

    kind: str
    number: int
    line: int
    entry: Optional[str]
    field: str
    count: int


@dataclass(frozen=True)
class RedactedKind:
    """A kind of secrets that were replaced."""

    kind: str
    distinct: int
    occurrences: int


@dataclass(frozen=True)
class RedactionReport:
    """The secrets that were replaced: their kinds and places, never the secrets."""

    occurrences: int
    signatures: int
    kinds: List[RedactedKind]
    places: List[RedactedPlace]

    @classmethod
    def from_dict(cls, data: Data) -> RedactionReport:
        kinds = [RedactedKind(**it) for it in data["kinds"]]
        return build(cls, data, kinds=kinds, places=[RedactedPlace(**it) for it in data["places"]])


@dataclass(frozen=True)
class ContextTokens:
    """The size of a context."""

    tokens: int
    #: The part that the last answer reported.
    usage_tokens: int
    #: The estimated part after it.
    trailing_tokens: int


@dataclass(frozen=True)
class Merged:
    """A merge that was done."""

    #: The entry that records the merge.
    record: str
    copies: List[str]


@dataclass(frozen=True)
class ContextRepair:
    """A change that a provider needed."""

    entry: str
    message: str


@dataclass(frozen=True)
class ProviderRequest:
    """The part of a request that comes from a context: ``messages``, and ``system`` and ``tools`` if there are any."""

    body: Dict[str, Any]
    #: What had to be changed so that the provider accepts it.
    repairs: List[ContextRepair]

    @property
    def messages(self) -> List[Message]:
        """The messages of the request, or the items of its input."""
        found: List[Message] = self.body.get("messages", self.body.get("input", []))
        return found


@dataclass(frozen=True)
class SyncReport:
    """The result of a synchronization of two stores."""

    sessions: int
    created: int
    appended: int
    merged: int
    unchanged: int
    removed: List[str]
    sent: int
    received: int
    conflicts: List[str]
    failed: List[str]
    is_complete: bool
