"""Sessions of other frameworks in PostgreSQL, through their own published code.

    stores.py openai URL MESSAGES BYTES ROUNDS      SQLAlchemySession of the OpenAI Agents SDK
    stores.py langgraph URL MESSAGES BYTES ROUNDS   PostgresSaver of LangGraph, a graph with MessagesState
    stores.py delta URL MESSAGES BYTES ROUNDS       the same with its messages in a DeltaChannel

Prints one JSON line: the medians, in milliseconds, of appending one message to a thread of MESSAGES and of reading all of it, and
how many messages were read. An append is what an agent does: `add_items` of the OpenAI session; of LangGraph half of an `invoke` with
a question, whose node answers at once, since that appends two messages. `least_append_ms` is the least that LangGraph's part of it
can take: `put` of a checkpoint that has one message more and was made before. Reading is `get_items`, and `get_state` of LangGraph.
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


def result(appends, reads, count, **more):
    median = lambda times: statistics.median(times) * 1000
    more = {name: median(times) for name, times in more.items() if times}
    print(json.dumps({"append_ms": median(appends), "read_ms": median(reads), "messages": count, **more}))


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
    from typing import Annotated

    from langchain_core.messages import AIMessage, HumanMessage
    from langgraph.checkpoint.postgres import PostgresSaver
    from langgraph.graph import END, START, MessagesState, StateGraph
    from typing_extensions import TypedDict

    State = MessagesState
    if is_delta:
        from langgraph.channels import DeltaChannel

        State = TypedDict("State", {"messages": Annotated[list, DeltaChannel(add_all)]})

    def said(number):
        kind = AIMessage if number % 2 else HumanMessage
        return kind(message(number, size)["content"], id=str(uuid.uuid4()))

    config = {"configurable": {"thread_id": f"thread-{uuid.uuid4()}"}}
    with PostgresSaver.from_conn_string(url) as saver:
        saver.setup()
        builder = StateGraph(State)
        builder.add_node("answer", lambda state: {"messages": [said(1)]})
        builder.add_edge(START, "answer")
        builder.add_edge("answer", END)
        graph = builder.compile(checkpointer=saver)
        # Few large steps: one a message would store the thread as many times as it has messages.
        for first in range(0, count, 500):
            messages = [said(number) for number in range(first, min(first + 500, count))]
            graph.update_state(config, {"messages": messages}, as_node="answer")
        appends, least, reads = [], [], []
        for number in range(rounds):
            question = said(2 * number)
            start = time.perf_counter()
            graph.invoke({"messages": [question]}, config)
            appends.append((time.perf_counter() - start) / 2)
            if not is_delta:
                put = next_checkpoint(saver, config, said(2 * number))
                start = time.perf_counter()
                saver.put(*put)
                least.append(time.perf_counter() - start)
            start = time.perf_counter()
            messages = graph.get_state(config).values["messages"]
            reads.append(time.perf_counter() - start)
        result(appends, reads, len(messages), least_append_ms=least)


def main():
    kind, url = sys.argv[1:3]
    count, size, rounds = map(int, sys.argv[3:6])
    if kind == "openai":
        asyncio.run(openai(url, count, size, rounds))
    else:
        langgraph(url, count, size, rounds, kind == "delta")


main()
