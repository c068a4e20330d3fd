// Starts each agent twice in a home of its own: with a question, and again to continue the session. The model is
// model.mjs, so nothing leaves the machine. Then treering must list the session, with its project, title and
// tokens, show the whole conversation, find nothing odd, and convert it.

import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startModel } from './model.mjs';

const [, , packages, treering] = process.argv;
const execute = promisify(execFile);
const versions = readFileSync(new URL('versions', import.meta.url), 'utf8').trim().split('\n');
const versionOf = (agent) => versions.find((line) => line.startsWith(`${agent} `)).split('@').at(-1);
const packageOf = (agent) => join(packages, `${agent}-${versionOf(agent)}`, 'package');

const server = await startModel();
const url = `http://127.0.0.1:${server.address().port}`;

/** How each agent is started with a prompt, and with the id of a session to continue. */
const AGENTS = {
  qwen: {
    env: { OPENAI_API_KEY: 'x', OPENAI_BASE_URL: `${url}/v1`, OPENAI_MODEL: 'stub', QWEN_CODE_SUPPRESS_YOLO_WARNING: '1' },
    command: (prompt, id) => [process.execPath, join(packageOf('qwen'), 'cli.js'), '--auth-type', 'openai', '--yolo', ...(id ? ['--resume', id] : []), '-p', prompt],
    tokens: 4 * 1050,
  },
  gemini: {
    env: { GEMINI_API_KEY: 'x', GOOGLE_GEMINI_BASE_URL: url },
    prepare: (home) => {
      mkdirSync(join(home, '.gemini'), { recursive: true });
      writeFileSync(join(home, '.gemini/settings.json'), JSON.stringify({ security: { auth: { selectedType: 'gemini-api-key' } } }));
    },
    // Files are named by the minute, and an empty one is left behind if the session is continued in another minute.
    between: ({ path }) => renameSync(path, path.replace(/session-.{16}/, 'session-2026-01-01T00-00')),
    command: (prompt, id) => [process.execPath, join(packageOf('gemini'), 'bundle/gemini.js'), '-m', 'gemini-2.5-pro', '--skip-trust', '--yolo', ...(id ? ['--resume', id] : []), '-p', prompt],
    tokens: 4 * 1080,
  },
  copilot: {
    env: { COPILOT_OFFLINE: 'true', COPILOT_AUTO_UPDATE: 'false', COPILOT_PROVIDER_BASE_URL: `${url}/v1`, COPILOT_MODEL: 'gpt-4.1' },
    command: (prompt, id) => [join(packageOf('copilot'), 'copilot'), '--allow-all-tools', ...(id ? ['--resume', id] : []), '-p', prompt],
    tokens: 4 * 1050,
  },
  opencode: {
    env: { OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_MODELS_FETCH: '1', OPENCODE_DISABLE_DEFAULT_PLUGINS: '1', OPENCODE_DISABLE_LSP_DOWNLOAD: '1' },
    prepare: (home) => {
      const limit = { context: 100_000, output: 4000 };
      const stub = { npm: '@ai-sdk/openai-compatible', options: { baseURL: `${url}/v1`, apiKey: 'x' }, models: { stub: { limit } } };
      const config = { model: 'stub/stub', small_model: 'stub/stub', autoupdate: false, share: 'disabled', permission: 'allow', provider: { stub } };
      mkdirSync(join(home, '.config/opencode'), { recursive: true });
      writeFileSync(join(home, '.config/opencode/opencode.json'), JSON.stringify(config));
    },
    // A prompt of one argument would be put into quotes.
    command: (prompt, id) => [join(packageOf('opencode'), 'bin/opencode'), 'run', ...(id ? ['--session', id] : []), ...prompt.split(' ')],
    tokens: 4 * 1050,
    // The model is asked for a title, too, and answers as it always does.
    title: 'It says kiln.',
  },
};

const failures = [];
const check = (agent, what, found, expected) => {
  if (JSON.stringify(found) !== JSON.stringify(expected)) {
    failures.push(`${agent}: ${what} is ${JSON.stringify(found)}, not ${JSON.stringify(expected)}`);
  }
};

async function run(agent) {
  const home = realpathSync(mkdtempSync(join(tmpdir(), `treering-${agent}-`)));
  const project = join(home, 'project');
  mkdirSync(project);
  const { env, prepare, between, command, tokens, title } = AGENTS[agent];
  prepare?.(home);
  const environment = { PATH: process.env.PATH, HOME: home, TERM: 'xterm-256color', ...env };
  const start = async ([program, ...words]) => {
    const running = execute(program, words, { cwd: project, env: environment, timeout: 300_000, maxBuffer: 1 << 26 });
    // An agent that reads its input to the end would wait for it.
    running.child.stdin.end();
    return (await running).stdout;
  };
  const treeringSays = (...words) => start([treering, ...words]);
  await start(command('What does the kiln say?'));
  const list = async () =>
    (await treeringSays('ls', '--all', '--json')).split('\n').filter(Boolean).map((line) => JSON.parse(line));
  const [first] = await list();
  if (!first) return failures.push(`${agent}: no session was found`);
  between?.(first);
  await start(command('And again?', first.id));
  const sessions = await list();
  check(agent, 'the number of sessions', sessions.length, 1);
  const [session] = sessions;
  check(agent, 'the agent', session.agent, agent);
  check(agent, 'the project', session.cwd, project);
  check(agent, 'the title', session.name ?? session.firstMessage, title ?? 'What does the kiln say?');
  check(agent, 'the tokens', session.tokens, tokens);
  const context = JSON.parse(await treeringSays('context', session.path, '--json'));
  const said = context.messages
    .map(({ role, content, summary }) => {
      const texts = [content ?? { text: summary }].flat().map((block) => block.text ?? block.name ?? '');
      return `${role}: ${texts.join('|')}`;
    })
    .filter((line) => !line.includes('<session_context>'));
  check(agent, 'the number of messages', said.length, 8);
  check(agent, 'the first message', said[0], 'user: What does the kiln say?');
  check(agent, 'the second role and its text', said[1]?.split('|')[0], 'assistant: I look.');
  check(agent, 'the third role', said[2]?.split(':')[0], 'toolResult');
  check(agent, 'what the tool said', said[2]?.includes('kiln'), true);
  check(agent, 'the last message', said.at(-1), 'assistant: It says kiln.');
  const { findings } = JSON.parse(await treeringSays('doctor', session.path, '--json'));
  check(agent, 'what is odd', findings, []);
  for (const target of ['pi', 'claude-code']) {
    await treeringSays('convert', session.path, '--to', target, '-o', join(home, `${target}.jsonl`));
  }
  rmSync(home, { recursive: true, force: true });
}

const wanted = process.env.AGENTS?.split(',') ?? Object.keys(AGENTS);
// Copilot and OpenCode are programs for one system only.
const here = wanted.filter((agent) => !['copilot', 'opencode'].includes(agent) || (process.platform === 'linux' && process.arch === 'x64'));
await Promise.all(here.map((agent) => run(agent).catch((error) => failures.push(`${agent}: ${error.message}\n${error.stderr ?? ''}`))));
server.close();
for (const failure of failures) console.error(failure);
console.log(`${here.length} agents, ${failures.length} differences`);
process.exit(failures.length ? 1 : 0);
