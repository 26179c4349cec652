// The MCP Inspector's command-line mode: each check is a process or two of it.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { serve } from './carriers.mjs';
import { Report, finish } from './report.mjs';

const PACKAGE = createRequire(import.meta.url).resolve('@modelcontextprotocol/inspector/package.json');
const INSPECTOR = join(dirname(PACKAGE), 'clients/launcher/build/index.js');

// Nothing of the user's is read or written.
const home = await mkdtemp(join(tmpdir(), 'bowline-inspector-'));

const overHttp = await serve();
for (const [carrier, server] of [
  ['', process.argv.slice(2)],
  [', HTTP', ['--transport', 'http', '--server-url', overHttp.url.href]],
]) {
  for (const [era, revision] of [['legacy', '2025-11-25'], ['modern', '2026-07-28']]) {
    const report = new Report(`inspector 2.x, ${revision}${carrier}`);
    const inspector = inspectorOf(server, era);
    await overAnyCarrier(report, inspector);
    // Each check is a process that starts slowly, and what these try is the same over HTTP.
    if (carrier === '') await contents(report, inspector, era);
  }
}
await overHttp.stop();
await rm(home, { recursive: true });
finish();

function inspectorOf(server, era) {
  const inspect = (method, ...options) =>
    run(server, '--protocol-era', era, '--method', method, ...options);
  const call = (name, args = {}, ...options) =>
    inspect('tools/call', '--tool-name', name, '--tool-args-json', JSON.stringify(args), ...options);
  return { inspect, call };
}

async function overAnyCarrier(report, { inspect, call }) {
  await report.check('identity', async () => {
    const { result } = await inspect('initialize');
    assert.equal(result.serverInfo.name, 'bowline-demo');
    assert.match(result.instructions, /echo/);
  });
  await report.check('text', async () => {
    const { result } = await call('echo', { text: 'Knoten – 🪢' });
    assert.equal(result.content[0].text, 'Knoten – 🪢');
  });
  await report.check('progress', async () => {
    const { result } = await call('countdown', { from: 3, pause_ms: 5 });
    assert.equal(result.content[0].text, 'counted down from 3');
  });
  await report.check('errors', async () => {
    const failed = await call('fail', { message: 'out of rope' });
    assert.equal(failed.result.content[0].text, 'out of rope');
    assert.equal(failed.status, 5);
    // Without `--quiet` it would show what the server prints, too.
    const panicked = await call('panic', {}, '--quiet');
    assert.equal(panicked.status, 1);
    assert.match(panicked.stderr, /the handler failed/);
    assert.doesNotMatch(panicked.stderr, /bug/);
    assert.equal((await call('nothing')).status, 5);
    assert.match((await inspect('resources/read', '--uri', 'demo://nothing')).stderr, /no such resource/);
  });
  await report.check('elicitation', async () => {
    // There is nobody to be asked, and it says so.
    const { status, stdout, stderr } = await call('ask_name');
    assert.notEqual(status, 0);
    assert.match(stdout + stderr, /elicitation/);
  });
  await report.check('load', async () => {
    const { result } = await call('echo', { text: 'x' }, '--load', '--load-requests', '500');
    assert.deepEqual([result.ok, result.errors], [500, 0]);
  });
}

async function contents(report, { inspect, call }, era) {
  await report.check('list tools, strictly', async () => {
    // It says which schemas other clients may stumble over, and fails for some.
    const { result, status, stderr } = await inspect('tools/list', '--strict');
    assert.equal(status, 0, stderr);
    assert.equal(stderr, '');
    assert.ok(result.tools.some((it) => it.name === 'echo'));
  });
  await report.check('structured content', async () => {
    const { result } = await call('count_words', { text: 'two words' });
    assert.equal(result.structuredContent.words, 2);
  });
  await report.check('image and audio as files', async () => {
    for (const [name, begin] of [['image', '\x89PNG'], ['audio', 'RIFF']]) {
      const file = join(home, name);
      const { status, stderr } = await call(name, {}, '--output', file, '--output-format', 'raw');
      assert.equal(status, 0, stderr);
      assert.equal((await readFile(file)).subarray(0, 4).toString('latin1'), begin);
    }
  });
  await report.check('mixed content', async () => {
    const { result } = await call('mixed');
    const kinds = result.content.map((it) => it.type);
    assert.deepEqual(kinds, ['text', 'image', 'audio', 'resource_link', 'resource']);
  });
  await report.check('list and read resources', async () => {
    const { result } = await inspect('resources/list');
    assert.ok(result.resources.some((it) => it.uri === 'demo://counter'));
    const { result: read } = await inspect('resources/read', '--uri', 'demo://readme');
    assert.match(read.contents[0].text, /Bowline/);
  });
  await report.check('templates', async () => {
    const { result } = await inspect('resources/templates/list');
    assert.ok(result.resourceTemplates.some((it) => it.uriTemplate === 'note:///{name}'));
  });
  await report.check('prompts', async () => {
    const { result } = await inspect('prompts/list');
    assert.ok(result.prompts.some((it) => it.name === 'greet'));
    const { result: got } = await inspect('prompts/get', '--prompt-name', 'greet', '--prompt-args', 'name=Ada');
    assert.equal(got.messages[0].content.text, 'Write a friendly greeting for Ada.');
  });
  await report.check('roots', async () => {
    // It has none, and says so.
    const { result } = await call('list_roots');
    assert.equal(result.content[0].text, '');
  });
  if (era === 'legacy') {
    await report.check('logging', async () => {
      assert.equal((await inspect('logging/setLevel', '--log-level', 'debug')).status, 0);
    });
  }
}

// Runs the Inspector once.
function run(server, ...options) {
  const args = [INSPECTOR, '--cli', '--format', 'json', ...server, ...options];
  const env = { ...process.env, HOME: home };
  return new Promise((resolve) => {
    execFile(process.execPath, args, { env, maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      const status = error === null ? 0 : error.code;
      const { result } = stdout === '' ? {} : JSON.parse(stdout);
      resolve({ status, stdout, stderr, result });
    });
  });
}
