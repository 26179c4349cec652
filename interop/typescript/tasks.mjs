// Tasks of 2025-11-25, with the experimental API of the SDK 1.x.

import assert from 'node:assert/strict';

import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js';

import { refused } from './report.mjs';

export async function tasks(report, { client }) {
  const { tasks } = client.experimental;
  // The stream says what becomes of a call: that it is a task, how it is, and its result.
  const brew = (step_ms) =>
    tasks.callToolStream({ name: 'brew', arguments: { step_ms } }, CallToolResultSchema, { task: { ttl: 60_000 } });

  await report.check('capability of tasks', async () => {
    assert.ok(client.getServerCapabilities().tasks.requests.tools.call);
    const { tools } = await client.listTools();
    assert.equal(tools.find((it) => it.name === 'brew').execution.taskSupport, 'optional');
  });
  await report.check('task', async () => {
    const kinds = new Set();
    let last;
    let task;
    for await (last of brew(50)) {
      kinds.add(last.type);
      task = last.task ?? task;
    }
    assert.deepEqual([...kinds], ['taskCreated', 'taskStatus', 'result']);
    assert.equal(last.result.content[0].text, 'a cup of coffee');
    assert.equal((await tasks.getTask(task.taskId)).status, 'completed');
    // The result is there for whoever comes again.
    const again = await tasks.getTaskResult(task.taskId, CallToolResultSchema);
    assert.equal(again.content[0].text, 'a cup of coffee');
  });
  await report.check('cancelled task', async () => {
    const { value } = await brew(60_000).next();
    assert.equal(value.type, 'taskCreated');
    const { taskId } = value.task;
    assert.equal((await tasks.getTask(taskId)).status, 'working');
    assert.equal((await tasks.cancelTask(taskId)).status, 'cancelled');
    assert.equal((await tasks.getTask(taskId)).status, 'cancelled');
    await refused(-32602, tasks.cancelTask(taskId));
  });
  await report.check('unknown task', async () => {
    await refused(-32602, tasks.getTask('nothing'));
    await refused(-32602, tasks.getTaskResult('nothing', CallToolResultSchema));
  });
}
