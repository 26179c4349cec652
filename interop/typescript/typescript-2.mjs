// The official TypeScript SDK, newest version of 2.x: every revision that there is.

import assert from 'node:assert/strict';

import { Client, StreamableHTTPClientTransport, SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

import { CAPABILITIES, elicit, roots, sample } from './answers.mjs';
import { http, stdio } from './carriers.mjs';
import { ending } from './ending.mjs';
import { features } from './features.mjs';
import { handshake } from './handshake.mjs';
import { Heard, Report, finish, refused } from './report.mjs';
import { stateless } from './stateless.mjs';

const NEWEST = '2026-07-28';

async function connect(report, open, options, capabilities = CAPABILITIES) {
  const client = new Client({ name: 'typescript-2', version: '1' }, { capabilities, ...options });
  if (capabilities.elicitation) {
    client.setRequestHandler('elicitation/create', elicit);
    client.setRequestHandler('sampling/createMessage', sample);
    client.setRequestHandler('roots/list', roots);
  }
  const heard = new Heard();
  client.onerror = report.onerror;
  client.fallbackNotificationHandler = async ({ method, params }) => heard.add(method, params);
  const { transport, stderr, server } = await open();
  await client.connect(transport);
  return {
    client,
    heard,
    stderr,
    server,
    // The SDK makes it the code of 2026-07-28 in every revision.
    notFound: -32602,
    revision: client.getNegotiatedProtocolVersion(),
    call: (name, args = {}, options = {}, _meta = undefined) =>
      client.callTool({ name, arguments: args, _meta }, options),
    readPage: (method, cursor) => client.request({ method, params: { cursor } }),
  };
}

// Tries everything in one revision.
async function everything(report, open, revision, options, more) {
  let session;
  await report.check('connection', async () => {
    session = await connect(report, open, options);
    assert.equal(session.revision, revision);
  });
  if (!session) return;
  await features(report, session);
  await more(report, session);
  await ending(report, session);
}

async function everyRevision(open, carrier) {
  // 2024-10-07 was a draft.
  for (const revision of SUPPORTED_PROTOCOL_VERSIONS.filter((revision) => revision >= '2024-11-05')) {
    const options = { supportedProtocolVersions: [revision], versionNegotiation: { mode: 'legacy' } };
    const report = new Report(`typescript-sdk 2.x, ${revision}${carrier}`);
    await everything(report, open, revision, options, handshake);
  }
  const report = new Report(`typescript-sdk 2.x, ${NEWEST}${carrier}`);
  await everything(report, open, NEWEST, { versionNegotiation: { mode: { pin: NEWEST } } }, stateless);
  const auto = { versionNegotiation: { mode: 'auto' } };
  await report.check('negotiation', async () => {
    const { client, revision, call, server } = await connect(report, open, auto);
    assert.equal(revision, NEWEST);
    assert.equal(client.getProtocolEra(), 'modern');
    assert.equal((await call('echo', { text: 'x' })).content[0].text, 'x');
    await client.close();
    await server?.stop();
  });
  await report.check('lists that refresh themselves', async () => {
    const changed = new Heard();
    const onChanged = (_, tools) => changed.add('tools', tools);
    const listChanged = { tools: { debounceMs: 0, onChanged } };
    const { client, call, server } = await connect(report, open, { ...auto, listChanged });
    await call('plugin_add');
    await changed.next('tools', (tools) => tools?.some((tool) => tool.name === 'plugin_1'));
    await client.close();
    await server?.stop();
  });
  await report.check('a client that cannot be asked', async () => {
    const { client, call, server } = await connect(report, open, auto, {});
    const error = await refused(-32021, call('ask_name'));
    assert.deepEqual(error.data.requiredCapabilities, { elicitation: { form: {} } });
    await client.close();
    await server?.stop();
  });
}

await everyRevision(stdio(StdioClientTransport), '');
await everyRevision(http(StreamableHTTPClientTransport), ', HTTP');
finish();
