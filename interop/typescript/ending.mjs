// How it ends.

import assert from 'node:assert/strict';

export async function ending(report, session) {
  await (session.server ? endingOfHttp : endingOfStdio)(report, session);
}

async function endingOfStdio(report, { client, call }) {
  await report.check('the server leaves when its client does', async () => {
    // It does so with a call in flight, too.
    const hanging = assert.rejects(call('hang'));
    const { pid } = client.transport;
    const begin = performance.now();
    await client.close();
    await hanging;
    // The SDKs close stdin first, and kill after two seconds.
    assert.ok(performance.now() - begin < 1900, 'it had to be killed');
    assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
  });
}

async function endingOfHttp(report, { client, call, server, revision }) {
  if (!('sessionId' in client.transport)) {
    await report.check('a session ends with its stream', async () => {
      const hanging = assert.rejects(call('hang'));
      // By then the server has the other one too: closing would take back what is being posted.
      await call('slow', { ms: 50 });
      const uri = client.transport._endpoint;
      await client.close();
      await hanging;
      while ((await ping(uri)).status !== 404);
    });
  } else if (revision < '2026-07-28') {
    await report.check('a session ends', async () => {
      const { transport } = client;
      const id = transport.sessionId;
      assert.match(id, /^[\x21-\x7e]{22,}$/);
      await transport.terminateSession();
      const headers = { 'mcp-session-id': id, 'mcp-protocol-version': revision };
      assert.equal((await ping(server.url, headers)).status, 404);
    });
  } else {
    await report.check('there is no session', async () => {
      assert.equal(client.transport.sessionId, undefined);
      // Nor does it keep the server: a call in flight ends with its client.
      const hanging = assert.rejects(call('hang'));
      await client.close();
      await hanging;
    });
  }
  await client.close();
  await report.check('the server ends when it is asked to', async () => {
    const begin = performance.now();
    assert.equal(await server.stop(), 0);
    assert.ok(performance.now() - begin < 2000, 'it took two seconds');
  });
}

// Posts a request without the SDK.
function ping(url, headers = {}) {
  const accept = 'application/json, text/event-stream';
  headers = { 'content-type': 'application/json', accept, ...headers };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 'x', method: 'ping' });
  return fetch(url, { method: 'POST', headers, body });
}
