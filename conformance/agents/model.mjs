// A model that needs no network: it answers chat completions and Google's generateContent by a script.
//
// The first request of a conversation is answered by a call of a shell tool, the request with its result by a
// text. Every agent's shell tool has another name and other arguments, so the tool is found among those that
// the request offers.

import { createServer } from 'node:http';

const SHELL = /^(bash|shell|run_shell_command|developer__shell|local_shell)$/;

/** Returns the name of the shell tool, and arguments for it. */
function shellCall(tools) {
  const tool = tools.find((tool) => SHELL.test(tool.name));
  if (!tool) return null;
  const schema = tool.parameters?.properties ?? tool.parametersJsonSchema?.properties ?? {};
  const values = { command: 'echo kiln', description: 'Say kiln', is_background: false };
  const wanted = Object.keys(schema).filter((key) => key in values);
  const keys = wanted.length ? wanted : ['command'];
  return { name: tool.name, args: Object.fromEntries(keys.map((key) => [key, values[key]])) };
}

function completions(request, respond) {
  const messages = request.messages ?? [];
  const last = messages.at(-1);
  const call = last?.role === 'tool' ? null : shellCall((request.tools ?? []).map((tool) => tool.function));
  const usage = {
    prompt_tokens: 1000,
    completion_tokens: 50,
    total_tokens: 1050,
    prompt_tokens_details: { cached_tokens: 400 },
  };
  const message = call
    ? {
        role: 'assistant',
        content: 'I look.',
        tool_calls: [
          { index: 0, id: 'call_1', type: 'function', function: { name: call.name, arguments: JSON.stringify(call.args) } },
        ],
      }
    : { role: 'assistant', content: 'It says kiln.' };
  const finish_reason = call ? 'tool_calls' : 'stop';
  const base = { id: 'chatcmpl-1', created: 1767603600, model: request.model };
  if (!request.stream) {
    return respond.json({ ...base, object: 'chat.completion', choices: [{ index: 0, message, finish_reason }], usage });
  }
  const chunk = (choices, more = {}) => ({ ...base, object: 'chat.completion.chunk', choices, ...more });
  respond.events([
    chunk([{ index: 0, delta: message, finish_reason: null }]),
    chunk([{ index: 0, delta: {}, finish_reason }]),
    chunk([], { usage }),
    '[DONE]',
  ]);
}

function generate(request, isStream, respond) {
  const last = request.contents?.at(-1);
  const declarations = (request.tools ?? []).flatMap((tool) => tool.functionDeclarations ?? []);
  const isResult = last?.parts?.some((part) => part.functionResponse);
  const call = isResult ? null : shellCall(declarations);
  const text = request.generationConfig?.responseMimeType === 'application/json' ? '{}' : call ? 'I look.' : 'It says kiln.';
  const parts = [{ text }];
  if (call) parts.push({ functionCall: { id: 'call_1', ...call } });
  const answer = {
    candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }],
    usageMetadata: {
      promptTokenCount: 1000,
      candidatesTokenCount: 50,
      cachedContentTokenCount: 400,
      thoughtsTokenCount: 30,
      totalTokenCount: 1080,
    },
    modelVersion: 'stub',
  };
  return isStream ? respond.events([answer]) : respond.json(answer);
}

/** Starts the model. Returns its server, whose port the system chooses. */
export async function startModel() {
  const server = createServer((incoming, outgoing) => {
    let body = '';
    incoming.on('data', (data) => (body += data));
    incoming.on('end', () => {
      const respond = {
        json: (value) => {
          outgoing.writeHead(200, { 'content-type': 'application/json' });
          outgoing.end(JSON.stringify(value));
        },
        events: (values) => {
          outgoing.writeHead(200, { 'content-type': 'text/event-stream' });
          for (const value of values) outgoing.write(`data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`);
          outgoing.end();
        },
      };
      if (process.env.STUB_LOG) console.error(incoming.method, incoming.url, body.slice(0, 300));
      const request = body ? JSON.parse(body) : {};
      if (incoming.url.includes('chat/completions')) return completions(request, respond);
      if (incoming.url.includes('countTokens')) return respond.json({ totalTokens: 1000 });
      if (incoming.url.includes('enerateContent')) return generate(request, incoming.url.includes('stream'), respond);
      respond.json({ object: 'list', data: [{ id: 'stub', object: 'model' }] });
    });
  });
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  return server;
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const server = await startModel();
  console.log(server.address().port);
}
