// A server that speaks OpenAI's chat completions and answers from a script.
import { once } from "node:events";
import { createServer } from "node:http";

/** Starts a server on loopback. `answers` are texts, or `{ tool, arguments }`; `requests` gets the bodies. */
export async function modelServer(answers) {
  const requests = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    requests.push(JSON.parse(body));
    const answer = answers.shift() ?? "There is nothing more to say.";
    const delta =
      typeof answer === "string"
        ? { role: "assistant", content: answer }
        : { role: "assistant", tool_calls: [{ index: 0, id: `call_${requests.length}`, type: "function", function: { name: answer.tool, arguments: JSON.stringify(answer.arguments) } }] };
    const chunk = (choice, more = {}) => `data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", created: 1, model: "stub", choices: [{ index: 0, ...choice }], ...more })}\n\n`;
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(chunk({ delta, finish_reason: null }));
    response.write(chunk({ delta: {}, finish_reason: typeof answer === "string" ? "stop" : "tool_calls" }, { usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } }));
    response.end("data: [DONE]\n\n");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { requests, url: `http://127.0.0.1:${server.address().port}/v1`, close: () => server.close() };
}
