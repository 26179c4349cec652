// The official TypeScript SDK, last version of 1.x.

import assert from 'node:assert/strict';

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  LATEST_PROTOCOL_VERSION,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';

import { CAPABILITIES, elicit, roots, sample } from './answers.mjs';
import { ending } from './ending.mjs';
import { features } from './features.mjs';
import { handshake } from './handshake.mjs';
import { Heard, Report, finish } from './report.mjs';
import { tasks } from './tasks.mjs';

async function connect(report, capabilities = CAPABILITIES) {
  const client = new Client({ name: 'typescript-1', version: '1' }, { capabilities });
  if (capabilities.elicitation) {
    client.setRequestHandler(ElicitRequestSchema, elicit);
    client.setRequestHandler(CreateMessageRequestSchema, sample);
    client.setRequestHandler(ListRootsRequestSchema, roots);
  }
  const [heard, stderr] = [new Heard(), new Heard()];
  client.onerror = report.onerror;
  client.fallbackNotificationHandler = async ({ method, params }) => heard.add(method, params);
  const [command, ...args] = process.argv.slice(2);
  const transport = new StdioClientTransport({ command, args, stderr: 'pipe' });
  transport.stderr.on('data', (bytes) => stderr.add('line', String(bytes)));
  await client.connect(transport);
  return {
    client,
    heard,
    stderr,
    revision: LATEST_PROTOCOL_VERSION,
    notFound: -32002,
    call: (name, args = {}, options = {}) => client.callTool({ name, arguments: args }, undefined, options),
    readPage: (_, cursor) => client.listTools({ cursor }),
  };
}

const report = new Report('typescript-sdk 1.x, 2025-11-25');
let session;
await report.check('handshake', async () => {
  session = await connect(report);
  assert.equal(session.revision, '2025-11-25');
});
if (session) {
  await features(report, session);
  await handshake(report, session);
  await tasks(report, session);
  await ending(report, session);
}
await report.check('a client that cannot be asked', async () => {
  const { client, call } = await connect(report, {});
  const result = await call('ask_name');
  assert.equal(result.isError, true);
  assert.match(result.content[0].text, /elicitation/);
  await client.close();
});
finish();
