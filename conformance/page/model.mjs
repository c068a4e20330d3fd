// A model of this machine that speaks the chat completions of OpenAI. It answers in pieces, and to some messages in a
// particular way: `hang` begins and never ends, `refuse` is refused.

import { createServer } from 'node:http';

export const NAME = 'parrot-1';

/** Starts it. `requests` are the messages that it was asked to answer; `closed` counts answers that were given up. */
export async function model() {
  const state = { requests: [], closed: 0 };
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', data => { body += data; });
    request.on('end', () => {
      const { messages } = JSON.parse(body);
      // Messages that follow each other arrive as one: the last line is the new one.
      const text = messages[messages.length - 1].content.split('\n').at(-1);
      state.requests.push(messages.map(message => message.content));
      if (/refuse/.test(text)) {
        response.writeHead(402, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ error: { message: 'out of credit' } }));
        return;
      }
      response.on('close', () => { if (!response.writableFinished) state.closed++; });
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const send = (delta, finish = null) => response.write(`data: ${JSON.stringify({ model: NAME, choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`);
      send({ reasoning_content: 'Thinking of parrots.' });
      send({ content: 'You said: ' });
      if (/hang/.test(text)) return;
      const pieces = [`**${text}**`, '. <img src=x onerror="globalThis.pwned=1"> ', 'That is all.'];
      const next = () => {
        const piece = pieces.shift();
        if (piece !== undefined) { send({ content: piece }); setTimeout(next, 60); return; }
        send({}, 'stop');
        response.end(`data: ${JSON.stringify({ model: NAME, choices: [], usage: { prompt_tokens: 12, completion_tokens: 5 } })}\n\ndata: [DONE]\n\n`);
      };
      setTimeout(next, 60);
    });
  });
  await new Promise(ready => { server.listen(0, '127.0.0.1', () => ready(null)); });
  state.url = `http://127.0.0.1:${server.address().port}`;
  state.close = () => { server.closeAllConnections(); server.close(); };
  return state;
}
