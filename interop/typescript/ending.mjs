// How it ends.

import assert from 'node:assert/strict';

export async function ending(report, { client, call }) {
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
