// What there is only with a handshake: up to 2025-11-25.

import assert from 'node:assert/strict';

export async function handshake(report, { client, call, heard }) {
  await report.check('ping', async () => {
    assert.deepEqual(await client.ping(), {});
  });
  await report.check('logging', async () => {
    await client.setLoggingLevel('warning');
    heard.forget();
    const quiet = await call('log', { level: 'info', text: 'quiet' });
    assert.equal(quiet.content[0].text, 'not sent: this level was not requested');
    const loud = await call('log', { level: 'error', text: 'loud' });
    assert.equal(loud.content[0].text, 'sent');
    const { level, data } = await heard.next('notifications/message');
    assert.deepEqual([level, data], ['error', 'loud']);
  });
  await report.check('subscription', async () => {
    const uri = 'demo://counter';
    await client.subscribeResource({ uri });
    heard.forget();
    await call('increment', { by: 3 });
    assert.equal((await heard.next('notifications/resources/updated')).uri, uri);
    await client.unsubscribeResource({ uri });
    await call('increment');
    // What the server has to say comes before the answer to a later call.
    await call('slow', { ms: 50 });
    assert.equal(heard.count('notifications/resources/updated'), 0);
    assert.equal((await client.readResource({ uri })).contents[0].text, '4');
  });
  await report.check('lists that change', async () => {
    heard.forget();
    await call('plugin_add');
    await heard.next('notifications/tools/list_changed');
    assert.ok((await client.listTools()).tools.some((it) => it.name === 'plugin_1'));
    await call('plugin_remove');
    await heard.next('notifications/tools/list_changed');
    await call('note_add', { name: 'third', text: 'x' });
    await heard.next('notifications/resources/list_changed');
    assert.ok((await client.listResources()).resources.some((it) => it.uri === 'note:///third'));
  });
  await report.check('roots that change', async () => {
    await client.sendRootsListChanged();
    await client.ping();
  });
}
