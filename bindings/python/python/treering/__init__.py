"""Session trees for AI agents.

A session is a tree of entries in a file that is only appended to. :class:`Session` opens and creates sessions of any
agent that treering knows; :func:`open_store` opens directories, servers and databases of them. Errors are
:class:`TreeringError`.
"""

from __future__ import annotations

import os

from . import _native, errors, reports, typed
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
    redact_text,
    repair,
    search,
    session_info,
    usage,
)
from .listener import Change, Subscription
from .messages import (
    Cost,
    Image,
    Summary,
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
from .store import Store, local_store, memory_store, open_store
from .tree import Tree

__version__ = VERSION

if hasattr(os, "register_at_fork"):
    # Files, connections and threads of a parent are of no use in its child.
    os.register_at_fork(after_in_child=_native.after_fork_in_child)

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
    "Summary",
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
    "local_store",
    "memory_store",
    "model_change",
    "open_store",
    "plan_repair",
    "redact_text",
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
