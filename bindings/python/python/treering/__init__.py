"""Session trees for AI agents.

A session is a tree of entries in a file that is only appended to. :class:`Session` opens and creates sessions of any
agent that treering knows; :func:`open_store` opens directories, servers and databases of them. Errors are
:class:`TreeringError`.
"""

from __future__ import annotations

from . import errors, reports, typed
from ._native import (
    VERSION,
    AbandonedBranch,
    CompactionPlan,
    EditPlan,
    Entry,
    MergePlan,
    PickPlan,
    RepairPlan,
)
from ._types import Position
from .context import Context, Tool, active_context
from .errors import (
    ConflictError,
    FormatError,
    InvalidError,
    NotFoundError,
    ReadOnlyError,
    StorageError,
    TreeringError,
)
from .files import (
    convert,
    dialects,
    doctor,
    estimate_tokens,
    list_directory,
    plan_repair,
    repair,
    search,
    session_info,
    usage,
)
from .listener import Change, Subscription
from .messages import (
    Cost,
    Image,
    TokenUsage,
    assistant,
    bash_execution,
    custom,
    custom_message,
    image,
    model_change,
    system,
    text,
    thinking,
    thinking_level_change,
    tool_call,
    tool_result,
    user,
)
from .session import Session
from .store import Store, memory_store, open_store
from .tree import Tree

__version__ = VERSION

__all__ = [
    "AbandonedBranch",
    "Change",
    "CompactionPlan",
    "ConflictError",
    "Context",
    "Cost",
    "EditPlan",
    "Entry",
    "FormatError",
    "Image",
    "InvalidError",
    "MergePlan",
    "NotFoundError",
    "PickPlan",
    "Position",
    "ReadOnlyError",
    "RepairPlan",
    "Session",
    "StorageError",
    "Store",
    "Subscription",
    "TokenUsage",
    "Tool",
    "Tree",
    "TreeringError",
    "__version__",
    "active_context",
    "assistant",
    "bash_execution",
    "convert",
    "custom",
    "custom_message",
    "dialects",
    "doctor",
    "errors",
    "estimate_tokens",
    "image",
    "list_directory",
    "memory_store",
    "model_change",
    "open_store",
    "plan_repair",
    "repair",
    "reports",
    "search",
    "session_info",
    "system",
    "text",
    "thinking",
    "thinking_level_change",
    "tool_call",
    "tool_result",
    "typed",
    "usage",
    "user",
]
