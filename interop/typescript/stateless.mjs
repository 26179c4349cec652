// What there is only without a handshake: since 2026-07-28.

import assert from 'node:assert/strict';

import { LOG_LEVEL_META_KEY } from '@modelcontextprotocol/client';

import { refused } from './report.mjs';

export async function stateless(report, { client, call, heard }) {
  await report.check('discovery', async () => {
    const discovered = await client.discover();
    assert.ok(discovered.supportedVersions.includes('2026-07-28'));
    assert.ok(discovered.ttlMs >= 0 && ['public', 'private'].includes(discovered.cacheScope));
  });
  await report.check('caching hints', async () => {
    const fresh = { cacheMode: 'refresh' };
    for (const result of [
      await client.listTools({}, fresh),
      await client.listPrompts({}, fresh),
      await client.listResources({}, fresh),
      await client.listResourceTemplates({}, fresh),
      await client.readResource({ uri: 'demo://readme' }, fresh),
    ]) {
      assert.ok(result.ttlMs >= 0 && ['public', 'private'].includes(result.cacheScope));
    }
  });
  await report.check('logging', async () => {
    heard.forget();
    const text = async (level, meta) =>
      (await call('log', { level, text: level }, {}, meta)).content[0].text;
    // Only who asks for messages gets them, with each request anew.
    assert.equal(await text('emergency'), 'not sent: this level was not requested');
    const warnings = { [LOG_LEVEL_META_KEY]: 'warning' };
    assert.equal(await text('info', warnings), 'not sent: this level was not requested');
    assert.equal(await text('error', warnings), 'sent');
    assert.equal((await heard.next('notifications/message')).data, 'error');
    assert.equal(heard.count('notifications/message'), 0);
  });
  await report.check('subscription', async () => {
    const uri = 'demo://counter';
    heard.forget();
    const subscription = await client.listen({ resourceSubscriptions: [uri] });
    assert.deepEqual(subscription.honoredFilter.resourceSubscriptions, [uri]);
    await call('increment', { by: 3 });
    assert.equal((await heard.next('notifications/resources/updated')).uri, uri);
    await call('plugin_add');
    await call('plugin_remove');
    await subscription.close();
    assert.equal(await subscription.closed, 'local');
    await call('increment');
    await call('slow', { ms: 50 });
    assert.equal(heard.count('notifications/resources/updated'), 0);
    // Nobody has asked for these.
    assert.equal(heard.count('notifications/tools/list_changed'), 0);
  });
  await report.check('lists that change', async () => {
    heard.forget();
    const everything = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };
    const subscription = await client.listen(everything);
    await call('plugin_add');
    await heard.next('notifications/tools/list_changed');
    assert.ok((await client.listTools()).tools.some((it) => it.name === 'plugin_1'));
    await call('plugin_remove');
    await heard.next('notifications/tools/list_changed');
    await call('note_add', { name: 'third', text: 'x' });
    await heard.next('notifications/resources/list_changed');
    await subscription.close();
  });
  await report.check('two subscriptions', async () => {
    heard.forget();
    const [first, second] = await Promise.all([
      client.listen({ resourceSubscriptions: ['demo://counter'] }),
      client.listen({ resourceSubscriptions: ['demo://counter', 'note:///first'] }),
    ]);
    await call('increment');
    await heard.next('notifications/resources/updated');
    await heard.next('notifications/resources/updated');
    await first.close();
    await call('note_add', { name: 'first', text: 'again' });
    assert.equal((await heard.next('notifications/resources/updated')).uri, 'note:///first');
    await second.close();
  });
  await report.check('input that the client asks for itself', async () => {
    const request = { method: 'tools/call', params: { name: 'ask_name', arguments: {} } };
    const options = { allowInputRequired: true };
    const asked = await client.request(request, options);
    assert.equal(asked.resultType, 'input_required');
    const inputResponses = { name: { action: 'accept', content: { name: 'Bob' } } };
    const params = { ...request.params, inputResponses, requestState: asked.requestState };
    const answered = await client.request({ ...request, params }, options);
    assert.equal(answered.content[0].text, 'Hello, Bob!');
    const forged = { ...params, requestState: `${asked.requestState}x` };
    await refused(-32602, client.request({ ...request, params: forged }, options));
  });
}
