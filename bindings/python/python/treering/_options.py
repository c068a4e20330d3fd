"""Options as the native part takes them."""

from __future__ import annotations

import os
from typing import Any, Dict, Optional

from ._types import Durability, StrPath


def create_options(
    id: Optional[str] = None,
    dialect: Optional[str] = None,
    parent_session: Optional[StrPath] = None,
    system_prompt: Optional[str] = None,
    headerless: bool = False,
    creation: Optional[str] = None,
    durability: Optional[Durability] = None,
) -> Dict[str, Any]:
    return {
        "id": id,
        "dialect": dialect,
        "parent_session": parent_session,
        "system_prompt": system_prompt,
        "headerless": headerless,
        "creation": creation,
        "durability": durability,
    }


def search_options(
    case_sensitive: bool = False,
    by_relevance: bool = False,
    max_hits: Optional[int] = None,
    hits_per_session: Optional[int] = None,
    snippet_width: Optional[int] = None,
) -> Dict[str, Any]:
    return {
        "case_sensitive": case_sensitive,
        "by_relevance": by_relevance,
        "max_hits": max_hits,
        "hits_per_session": hits_per_session,
        "snippet_width": snippet_width,
    }


def directory_or_cwd(cwd: Optional[StrPath]) -> StrPath:
    return os.getcwd() if cwd is None else cwd
