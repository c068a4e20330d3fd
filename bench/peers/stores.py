"""Sessions of other frameworks in PostgreSQL, through their own published code.

    stores.py openai URL MESSAGES BYTES ROUNDS      SQLAlchemySession of the OpenAI Agents SDK
    stores.py langgraph URL MESSAGES BYTES ROUNDS   PostgresSaver of LangGraph, a list of messages as a channel
    stores.py delta URL MESSAGES BYTES ROUNDS       the same with a DeltaChannel

Prints one JSON line: the medians, in milliseconds, of appending one message to a thread of MESSAGES and of reading all of it, and
how many messages were read. Of LangGraph's checkpointer these are `put` and `get_tuple` alone; with a DeltaChannel, which needs the
graph, `update_state` and `get_state`.
"""

import asyncio
import json
import statistics
import sys
import time
import uuid


def message(number, size):
    role = "assistant" if number % 2 else "user"
    return {"role": role, "content": f"{number} ".ljust(size, "x")}


def result(appends, reads, count):
    median = lambda times: statistics.median(times) * 1000
    print(json.dumps({"append_ms": median(appends), "read_ms": median(reads), "messages": count}))


async def openai(url, count, size, rounds):
    from agents.extensions.memory import SQLAlchemySession

    url = url.replace("postgres://", "postgresql+asyncpg://")
    session = SQLAlchemySession.from_url(f"thread-{uuid.uuid4()}", url=url, create_tables=True)
    for first in range(0, count, 500):
        await session.add_items([message(number, size) for number in range(first, min(first + 500, count))])
    appends, reads = [], []
    for number in range(rounds):
        start = time.perf_counter()
        await session.add_items([message(count + number, size)])
        appends.append(time.perf_counter() - start)
        start = time.perf_counter()
        items = await session.get_items()
        reads.append(time.perf_counter() - start)
    result(appends, reads, len(items))
    await session.engine.dispose()


def add_all(state, writes):
    """The reducer of a DeltaChannel."""
    state = list(state or [])
    for write in writes:
        state.extend(write)
    return state


def next_checkpoint(saver, config, new):
    """Returns the arguments that store a thread with one more message: the least that an append takes."""
    from langgraph.checkpoint.base.id import uuid6

    last = saver.get_tuple(config)
    checkpoint = last.checkpoint
    checkpoint["id"] = str(uuid6())
    values, versions = checkpoint["channel_values"], checkpoint["channel_versions"]
    values["messages"] = values["messages"] + [new]
    versions["messages"] = saver.get_next_version(versions["messages"], None)
    return last.config, checkpoint, last.metadata, {"messages": versions["messages"]}


def langgraph(url, count, size, rounds, is_delta):
    import operator
    from typing import Annotated

    from langgraph.checkpoint.postgres import PostgresSaver
    from langgraph.graph import END, START, StateGraph
    from typing_extensions import TypedDict

    if is_delta:
        from langgraph.channels import DeltaChannel

        channel = Annotated[list, DeltaChannel(add_all)]
    else:
        channel = Annotated[list, operator.add]
    State = TypedDict("State", {"messages": channel})

    config = {"configurable": {"thread_id": f"thread-{uuid.uuid4()}"}}
    with PostgresSaver.from_conn_string(url) as saver:
        saver.setup()
        builder = StateGraph(State)
        builder.add_node("answer", lambda state: {})
        builder.add_edge(START, "answer")
        builder.add_edge("answer", END)
        graph = builder.compile(checkpointer=saver)
        # Few large steps: one a message would store the thread as many times as it has messages.
        for first in range(0, count, 500):
            messages = [message(number, size) for number in range(first, min(first + 500, count))]
            graph.update_state(config, {"messages": messages}, as_node="answer")
        appends, reads = [], []
        for number in range(rounds):
            new = message(count + number, size)
            if is_delta:
                start = time.perf_counter()
                graph.update_state(config, {"messages": [new]}, as_node="answer")
            else:
                put = next_checkpoint(saver, config, new)
                start = time.perf_counter()
                saver.put(*put)
            appends.append(time.perf_counter() - start)
            start = time.perf_counter()
            if is_delta:
                messages = graph.get_state(config).values["messages"]
            else:
                messages = saver.get_tuple(config).checkpoint["channel_values"]["messages"]
            reads.append(time.perf_counter() - start)
        result(appends, reads, len(messages))


def main():
    kind, url = sys.argv[1:3]
    count, size, rounds = map(int, sys.argv[3:6])
    if kind == "openai":
        asyncio.run(openai(url, count, size, rounds))
    else:
        langgraph(url, count, size, rounds, kind == "delta")


main()
