// Runs checks and tells of each in a line. Nothing here knows the protocol.

import assert from 'node:assert/strict';

// More than anything takes here, on a machine that is busy with something else too.
const PATIENCE_MS = 20_000;

export class Report {
  constructor(client) {
    this.client = client;
    // Progress that the SDK no longer knows what to do with.
    this.late = [];
  }

  // Runs one check. One that fails doesn't stop those after it.
  async check(name, body) {
    try {
      await within(PATIENCE_MS, body());
      console.log(`ok      ${this.client}: ${name}`);
    } catch (error) {
      this.fail(name, error);
    }
  }

  fail(name, error) {
    const reason = String(error?.message ?? error).split('\n').filter(Boolean).join(' | ');
    console.log(`FAILED  ${this.client}: ${name}: ${reason}`);
  }

  // What an SDK can't make sense of. Both versions call progress unknown that arrives together
  // with the result, or after the call was cancelled.
  onerror = (error) => {
    const [, late] = error.message.split('progress notification for an unknown token: ');
    if (late) return this.late.push(JSON.parse(late).params);
    // Over HTTP, the streams that it has closed itself. The SDK 1.x tries to resume those as well.
    const closed = ['AbortError', 'This operation was aborted', 'Maximum reconnection attempts'];
    if (closed.some((text) => error.message.includes(text))) return;
    this.fail('what the server sends can be understood', error);
  };
}

// Ends the process: what a check has left behind must not keep it. Checks that failed have been
// told; another status is that of a program that broke.
export function finish() {
  process.exit(0);
}

// What is heard from the server without being asked for, to be waited for.
export class Heard {
  #messages = [];
  #waiting = [];

  add(kind, params) {
    this.#messages.push({ kind, params });
    for (const look of this.#waiting) look();
  }

  // The next message of a kind, from now on or since the last `forget`.
  next(kind, fits = () => true) {
    return new Promise((resolve) => {
      const look = () => {
        const at = this.#messages.findIndex((it) => it.kind === kind && fits(it.params));
        if (at < 0) return;
        this.#waiting = this.#waiting.filter((it) => it !== look);
        resolve(this.#messages.splice(at, 1)[0].params);
      };
      this.#waiting.push(look);
      look();
    });
  }

  count(kind) {
    return this.#messages.filter((it) => it.kind === kind).length;
  }

  forget() {
    this.#messages = [];
  }
}

// Expects an error of the server with this code, and returns it.
export async function refused(code, promise) {
  const error = await promise.then(
    (result) => assert.fail(`no error but ${JSON.stringify(result)}`),
    (error) => error,
  );
  assert.equal(error.code, code, error.message);
  return error;
}

function within(ms, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`nothing happened for ${ms} ms`)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
