// What every client is asked to do, whichever version of the SDK and whichever revision.
//
// A session has the SDK's client, and what the versions of the SDK do in different ways:
// `call`, `readPage`, `heard`, `revision`, `notFound`; `stderr` over stdio, `server` over HTTP.

import assert from 'node:assert/strict';

import { will } from './answers.mjs';
import { refused } from './report.mjs';

export async function features(report, session) {
  await identity(report, session);
  await tools(report, session);
  await errors(report, session);
  await patience(report, session);
  await resources(report, session);
  await prompts(report, session);
  await asking(report, session);
  await pages(report, session);
}

const textOf = (result) => result.content[0].text;
const isAtLeast = (session, revision) => session.revision >= revision;

async function identity(report, { client, revision }) {
  await report.check('identity', async () => {
    const { name, version } = client.getServerVersion();
    assert.equal(name, 'bowline-demo');
    assert.match(version, /^\d+\.\d+\.\d+/);
    assert.match(client.getInstructions(), /echo/);
  });
  await report.check('capabilities', async () => {
    const capabilities = client.getServerCapabilities();
    assert.equal(capabilities.tools.listChanged, true);
    assert.equal(capabilities.resources.listChanged, true);
    assert.equal(capabilities.resources.subscribe, true);
    assert.ok(capabilities.prompts && capabilities.logging);
    // 2024-11-05 has completion, but no capability for it.
    assert.equal('completions' in capabilities, revision >= '2025-03-26');
  });
}

async function tools(report, session) {
  const { client, call, revision } = session;
  await report.check('list tools', async () => {
    const { tools } = await client.listTools();
    const byName = Object.fromEntries(tools.map((it) => [it.name, it]));
    assert.deepEqual(byName.add.inputSchema.required, ['a', 'b']);
    assert.equal(byName.echo.annotations?.readOnlyHint, revision >= '2025-03-26' ? true : undefined);
    assert.equal(byName.echo.title, revision >= '2025-06-18' ? 'Echo' : undefined);
    assert.equal(byName.count_words.outputSchema?.type, revision >= '2025-06-18' ? 'object' : undefined);
    assert.equal(byName.image.icons?.[0].mimeType, revision >= '2025-11-25' ? 'image/png' : undefined);
  });
  await report.check('text', async () => {
    const text = 'Knoten – 結び目 – 🪢\n"quoted" \u2028 \u0000';
    assert.equal(textOf(await call('echo', { text })), text);
    assert.equal(textOf(await call('add', { a: 1.5, b: 2 })), '3.5');
  });
  await report.check('structured content', async () => {
    // The SDK compares it with the output schema.
    const result = await call('count_words', { text: 'two words\nthree in all' });
    const counts = { characters: 22, words: 5, lines: 2 };
    assert.deepEqual(JSON.parse(textOf(result)), counts);
    assert.deepEqual(result.structuredContent, isAtLeast(session, '2025-06-18') ? counts : undefined);
  });
  await report.check('image', async () => {
    const { content } = await call('image');
    assert.equal(content[0].mimeType, 'image/png');
    assert.equal(Buffer.from(content[0].data, 'base64').subarray(1, 4).toString(), 'PNG');
  });
  if (isAtLeast(session, '2025-03-26')) {
    await report.check('audio', async () => {
      const { content } = await call('audio');
      assert.equal(content[0].type, 'audio');
      assert.equal(Buffer.from(content[0].data, 'base64').subarray(0, 4).toString(), 'RIFF');
    });
  }
  if (isAtLeast(session, '2025-06-18')) {
    await report.check('resource link', async () => {
      const { content } = await call('resource_link');
      assert.equal(content[0].type, 'resource_link');
      const { contents } = await client.readResource({ uri: content[0].uri });
      assert.equal(contents[0].mimeType, 'image/png');
    });
  }
  await report.check('embedded resource', async () => {
    const { content } = await call('embedded_resource');
    assert.equal(content[0].resource.uri, 'demo://readme');
    assert.match(content[0].resource.text, /Bowline/);
  });
  await report.check('mixed content', async () => {
    const { content } = await call('mixed');
    assert.equal(content.length, 5);
    assert.deepEqual(content[0].annotations.audience, ['assistant']);
  });
  await report.check('large result', async () => {
    assert.equal(textOf(await call('large', { bytes: 5_000_000 })).length, 5_000_000);
  });
  await report.check('many calls at once', async () => {
    const calls = Array.from({ length: 200 }, (_, a) => call('add', { a, b: 1 }));
    const sums = (await Promise.all(calls)).map((it) => Number(textOf(it)));
    assert.deepEqual(sums, sums.map((_, a) => a + 1));
  });
}

async function errors(report, session) {
  const { client, call, stderr } = session;
  await report.check('error of a tool', async () => {
    const result = await call('fail', { message: 'out of rope' });
    assert.equal(result.isError, true);
    assert.equal(textOf(result), 'out of rope');
    const hidden = await call('fail_inside');
    assert.equal(hidden.isError, true);
    assert.doesNotMatch(JSON.stringify(hidden), /secret/);
  });
  await report.check('wrong arguments', async () => {
    // An error of the protocol up to 2025-06-18, since then something for the model.
    const wrong = { a: 1, b: 'two' };
    if (isAtLeast(session, '2025-11-25')) {
      const result = await call('add', wrong);
      assert.equal(result.isError, true);
      assert.match(textOf(result), /\bb: invalid type/);
    } else {
      const error = await refused(-32602, call('add', wrong));
      assert.match(error.message, /\bb: invalid type/);
    }
  });
  await report.check('error of the protocol', async () => {
    const error = await refused(-31000, call('protocol_error'));
    assert.deepEqual(error.data, { reason: 'demonstration' });
    await refused(-32602, call('nothing'));
    await refused(-32602, client.getPrompt({ name: 'nothing' }));
    await refused(-32602, client.getPrompt({ name: 'greet' }));
    await refused(-32602, client.listResources({ cursor: 'nonsense' }));
  });
  await report.check('resource not found', async () => {
    const error = await refused(session.notFound, client.readResource({ uri: 'demo://nothing' }));
    assert.equal(error.data?.uri, 'demo://nothing');
    await refused(-32603, client.readResource({ uri: 'demo://broken' }));
  });
  await report.check('panic', async () => {
    const error = await refused(-32603, call('panic'));
    assert.doesNotMatch(error.message, /bug/);
    assert.equal(textOf(await call('echo', { text: 'alive' })), 'alive');
  });
  if (stderr) {
    await report.check('stray print', async () => {
      await call('print', { text: 'astray' });
      await stderr.next('line', (line) => line.includes('astray'));
    });
  }
}

async function patience(report, session) {
  const { call } = session;
  await report.check('progress', async () => {
    report.late = [];
    const onTime = [];
    const onprogress = (progress) => onTime.push(progress);
    const result = await call('countdown', { from: 5, pause_ms: 5 }, { onprogress });
    assert.equal(textOf(result), 'counted down from 5');
    // Both versions of the SDK call progress late that arrives together with the result.
    await new Promise((resolve) => setImmediate(resolve));
    const seen = [...onTime, ...report.late];
    assert.deepEqual(seen.map((it) => it.progress), [1, 2, 3, 4, 5]);
    assert.ok(seen.every((it) => it.total === 5));
    const message = isAtLeast(session, '2025-03-26') ? '4 to go' : undefined;
    assert.equal(seen[0].message, message);
  });
  await report.check('cancellation', async () => {
    const before = await cancelled(call);
    const aborting = new AbortController();
    const onprogress = () => aborting.abort('enough');
    const options = { onprogress, signal: aborting.signal };
    await assert.rejects(call('countdown', { from: 1000, pause_ms: 20 }, options));
    while ((await cancelled(call)) === before) await call('slow', { ms: 10 });
  });
  await report.check('timeout', async () => {
    await assert.rejects(call('hang', {}, { timeout: 100 }));
    assert.equal(textOf(await call('echo', { text: 'alive' })), 'alive');
  });
  await report.check('slow calls hold up nobody', async () => {
    const order = [];
    const slow = call('slow', { ms: 500 }).then(() => order.push('slow'));
    const blocking = call('blocking', { ms: 500 }).then(() => order.push('blocking'));
    await call('echo', { text: 'fast' }).then(() => order.push('fast'));
    await Promise.all([slow, blocking]);
    assert.equal(order[0], 'fast');
  });
}

// How many countdowns the server knows to be cancelled.
async function cancelled(call) {
  return JSON.parse(textOf(await call('counter'))).cancelled;
}

async function resources(report, session) {
  const { client, call } = session;
  await report.check('list resources', async () => {
    const { resources } = await client.listResources();
    const readme = resources.find((it) => it.uri === 'demo://readme');
    assert.equal(readme.mimeType, 'text/markdown');
    assert.deepEqual(readme.annotations, { audience: ['user'], priority: 0.8 });
    assert.equal(readme.size, (await read(client, 'demo://readme')).text.length);
  });
  await report.check('read text and bytes', async () => {
    assert.match((await read(client, 'demo://readme')).text, /Bowline/);
    const picture = await read(client, 'demo://knot.png');
    assert.equal(Buffer.from(picture.blob, 'base64').subarray(1, 4).toString(), 'PNG');
  });
  await report.check('templates', async () => {
    const { resourceTemplates } = await client.listResourceTemplates();
    const uris = resourceTemplates.map((it) => it.uriTemplate);
    assert.ok(uris.includes('note:///{name}') && uris.includes('demo://books/{author}/{title}'));
    await call('note_add', { name: 'first', text: 'rope' });
    assert.equal((await read(client, 'note:///first')).text, 'rope');
    assert.equal((await read(client, 'demo://books/melville/typee')).text, 'typee by melville, 1846');
  });
}

async function read(client, uri) {
  const { contents } = await client.readResource({ uri });
  assert.equal(contents[0].uri, uri);
  return contents[0];
}

async function prompts(report, session) {
  const { client, call } = session;
  await report.check('list prompts', async () => {
    const { prompts } = await client.listPrompts();
    const greet = prompts.find((it) => it.name === 'greet');
    const required = greet.arguments.map((it) => [it.name, it.required ?? false]);
    assert.deepEqual(required, [['name', true], ['style', false]]);
  });
  await report.check('get prompts', async () => {
    const greet = await client.getPrompt({ name: 'greet', arguments: { name: 'Ada', style: 'nautical' } });
    assert.equal(greet.messages[0].content.text, 'Write a nautical greeting for Ada.');
    const look = await client.getPrompt({ name: 'look' });
    const kinds = look.messages.map((it) => [it.role, it.content.type]);
    assert.deepEqual(kinds[0], ['user', 'image']);
    assert.deepEqual(kinds[2], ['assistant', 'text']);
    await call('note_add', { name: 'second', text: 'sail' });
    const summarize = await client.getPrompt({ name: 'summarize', arguments: { name: 'second' } });
    assert.equal(summarize.messages[1].content.resource.text, 'sail');
  });
  await report.check('completion', async () => {
    const complete = async (ref, name, value, context) =>
      (await client.complete({ ref, argument: { name, value }, context })).completion.values;
    const greet = { type: 'ref/prompt', name: 'greet' };
    const book = { type: 'ref/resource', uri: 'demo://books/{author}/{title}' };
    assert.deepEqual(await complete(greet, 'style', 'f'), ['formal', 'friendly']);
    assert.deepEqual(await complete(book, 'author', 'm'), ['melville']);
    assert.deepEqual(await complete(book, 'title', 'ty'), ['typhoon', 'typee']);
    const melville = { arguments: { author: 'melville' } };
    assert.deepEqual(await complete(book, 'title', 'ty', melville), ['typee']);
    await refused(-32602, complete({ type: 'ref/prompt', name: 'nothing' }, 'x', ''));
  });
}

async function asking(report, session) {
  const { call } = session;
  if (isAtLeast(session, '2025-06-18')) {
    await report.check('elicitation', async () => {
      assert.equal(textOf(await call('ask_name')), 'Hello, Ada!');
      assert.match(textOf(await call('ask_survey')), /: bowline, because: it holds$/);
      will.decline = true;
      const declined = await call('ask_name').finally(() => (will.decline = false));
      assert.equal(textOf(declined), 'No name: decline.');
    });
  }
  if (isAtLeast(session, '2025-11-25')) {
    await report.check('elicitation by a page', async () => {
      assert.equal(textOf(await call('ask_url')), "The user's answer: accept");
    });
  }
  await report.check('sampling', async () => {
    assert.equal(textOf(await call('ask_model', { question: 'Why?' })), 'model-1: Why? 42.');
  });
  await report.check('roots', async () => {
    assert.equal(textOf(await call('list_roots')), 'home: file:///home/ada\nfile:///tmp');
  });
}

// A page has at most a hundred; all lists have fewer until the client adds to them.
async function pages(report, session) {
  const { client, call, readPage } = session;
  await report.check('pages', async () => {
    for (let at = 0; at < 100; at += 1) await call('plugin_add', { answer: String(at) });
    const names = [];
    let [page, cursor] = [await readPage('tools/list', undefined), undefined];
    for (;;) {
      names.push(...page.tools.map((it) => it.name));
      cursor = page.nextCursor;
      if (cursor === undefined) break;
      page = await readPage('tools/list', cursor);
    }
    assert.ok(names.includes('echo') && names.includes('plugin_100'));
    assert.equal(new Set(names).size, names.length);
    assert.ok(names.length > 100, `${names.length} tools`);
    assert.equal(textOf(await call('plugin_100')), '99');
    for (let at = 0; at < 100; at += 1) await call('plugin_remove');
    assert.equal((await client.listTools()).tools.length, names.length - 100);
  });
}
