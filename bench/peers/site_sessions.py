"""Sessions in the shape of Claude Code, the same for the same seed."""
import json
import uuid

WORDS = "parse token buffer index error retry branch leaf entry cache lock write read commit test queue".split()


def sentence(rng, words):
    return " ".join(rng.choice(WORDS) + str(rng.randrange(500)) for _ in range(words))


def session(path, number, rng, turns=20, last=None):
    """Writes a session of questions, answers, tool calls and results. Its last question contains `last`."""
    identity = str(uuid.UUID(int=rng.getrandbits(128), version=4))
    lines, parent = [], None
    for turn in range(turns):
        for kind in ("user", "call", "result", "assistant"):
            record = {
                "parentUuid": parent, "isSidechain": False, "userType": "external", "cwd": f"/home/me/project{number % 12}",
                "sessionId": identity, "version": "2.0.1", "gitBranch": "main",
                "uuid": str(uuid.UUID(int=rng.getrandbits(128), version=4)),
                "timestamp": f"2026-0{1 + number % 9}-{1 + number % 28:02}T10:{turn:02}:{rng.randrange(60):02}.000Z",
            }
            parent = record["uuid"]
            call = f"toolu_{number}_{turn}"
            if kind == "user":
                record |= {"type": "user", "message": {"role": "user", "content": sentence(rng, 30)}}
                if last and turn + 1 == turns:
                    record["message"]["content"] = last
            elif kind == "result":
                content = [{"type": "tool_result", "tool_use_id": call, "content": sentence(rng, 400)}]
                record |= {"type": "user", "message": {"role": "user", "content": content}}
            else:
                tool = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": "grep -rn " + sentence(rng, 3)}}
                text = {"type": "text", "text": f"## Step {turn}\n\n{sentence(rng, 120)}\n\n```rust\nfn main() {{}}\n```\n"}
                usage = {"input_tokens": 100, "output_tokens": 200, "cache_read_input_tokens": 1000, "cache_creation_input_tokens": 10}
                record |= {"type": "assistant", "requestId": f"req_{number}_{turn}_{kind}", "message": {
                    "id": f"msg_{number}_{turn}_{kind}", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
                    "content": [tool] if kind == "call" else [text], "stop_reason": "end_turn", "usage": usage}}
            lines.append(json.dumps(record, separators=(",", ":")))
    directory = path / f"-home-me-project{number % 12}"
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"{identity}.jsonl").write_text("\n".join(lines) + "\n")
