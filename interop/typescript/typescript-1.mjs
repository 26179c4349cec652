// The official TypeScript SDK, last version of 1.x.

import assert from 'node:assert/strict';

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  LATEST_PROTOCOL_VERSION,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';

import { CAPABILITIES, elicit, roots, sample } from './answers.mjs';
import { http, sse, stdio } from './carriers.mjs';
import { ending } from './ending.mjs';
import { features } from './features.mjs';
import { handshake } from './handshake.mjs';
import { Heard, Report, finish } from './report.mjs';
import { tasks } from './tasks.mjs';

async function connect(report, open, capabilities = CAPABILITIES) {
  const client = new Client({ name: 'typescript-1', version: '1' }, { capabilities });
  if (capabilities.elicitation) {
    client.setRequestHandler(ElicitRequestSchema, elicit);
    client.setRequestHandler(CreateMessageRequestSchema, sample);
    client.setRequestHandler(ListRootsRequestSchema, roots);
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
    revision: LATEST_PROTOCOL_VERSION,
    notFound: -32002,
    call: (name, args = {}, options = {}) => client.callTool({ name, arguments: args }, undefined, options),
    readPage: (_, cursor) => client.listTools({ cursor }),
  };
}

async function everything(report, open) {
  let session;
  await report.check('handshake', async () => {
    session = await connect(report, open);
    assert.equal(session.revision, '2025-11-25');
  });
  if (session) {
    await features(report, session);
    await handshake(report, session);
    await tasks(report, session);
    await ending(report, session);
  }
  await report.check('a client that cannot be asked', async () => {
    const { client, call, server } = await connect(report, open, {});
    const result = await call('ask_name');
    assert.equal(result.isError, true);
    assert.match(result.content[0].text, /elicitation/);
    await client.close();
    await server?.stop();
  });
}

await everything(new Report('typescript-sdk 1.x, 2025-11-25'), stdio(StdioClientTransport));
await everything(new Report('typescript-sdk 1.x, 2025-11-25, HTTP'), http(StreamableHTTPClientTransport));
await everything(new Report('typescript-sdk 1.x, 2025-11-25, HTTP+SSE'), sse(SSEClientTransport));
finish();
