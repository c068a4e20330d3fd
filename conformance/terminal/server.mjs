// A model on loopback that answers with given texts. It speaks the streaming protocol of
// OpenAI-compatible servers.

import { createServer } from 'node:http';

export class Model {
  // `answer(question, request)` gives the text, or { text, hold: true }: then the answer begins, and
  // never ends; { text, thinking }: thoughts come first; { refuse: 429 }: there is no answer.
  static async start(answer) {
    const model = new Model();
    model.requests = [];
    model.held = new Set();
    model.server = createServer((request, response) => {
      let body = '';
      request.on('data', piece => { body += piece; });
      request.on('end', () => {
        const asked = JSON.parse(body);
        model.requests.push(asked);
        const last = asked.messages.at(-1).content;
        const said = answer(typeof last === 'string' ? last : JSON.stringify(last), asked);
        const { text, thinking = '', hold = false, refuse } = typeof said === 'string' ? { text: said } : said;
        if (refuse) { response.writeHead(refuse, { 'content-type': 'application/json' }); response.end('{"error":{"message":"too busy"}}'); return; }
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        const send = value => response.write(`data: ${JSON.stringify(value)}\n\n`);
        for (const piece of thinking.match(/.{1,8}/gsu) ?? []) send({ model: 'mock', choices: [{ delta: { reasoning_content: piece }, finish_reason: null }] });
        for (const piece of text.match(/.{1,8}/gsu) ?? []) send({ model: 'mock', choices: [{ delta: { content: piece }, finish_reason: null }] });
        if (hold) { model.held.add(response); return; }
        send({ choices: [{ delta: {}, finish_reason: 'stop' }], usage: { prompt_tokens: 12, completion_tokens: 5 } });
        response.end('data: [DONE]\n\n');
      });
    });
    await new Promise(done => model.server.listen(0, '127.0.0.1', done));
    model.url = `http://127.0.0.1:${model.server.address().port}`;
    return model;
  }

  close() {
    for (const response of this.held) response.destroy();
    this.server.close();
    this.server.closeAllConnections();
  }
}
