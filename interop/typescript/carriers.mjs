// How a client reaches the demo server: over stdin and stdout, or over HTTP.
//
// Each client has a server of its own, so that it doesn't see what others change.

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

import { Heard } from './report.mjs';

const [COMMAND, ...ARGS] = process.argv.slice(2);

// The SDK starts the server.
export function stdio(Transport) {
  return async () => {
    const transport = new Transport({ command: COMMAND, args: ARGS, stderr: 'pipe' });
    const stderr = new Heard();
    transport.stderr.on('data', (bytes) => stderr.add('line', String(bytes)));
    return { transport, stderr };
  };
}

// The server prints its URL when it can be reached.
export function http(Transport, options) {
  return async () => {
    const server = await serve();
    return { transport: new Transport(server.url, options), server };
  };
}

export async function serve() {
  const process = spawn(COMMAND, [...ARGS, '--http', '0'], { stdio: ['ignore', 'pipe', 'ignore'] });
  const exit = new Promise((resolve) => process.on('exit', (code) => resolve(code)));
  const lines = createInterface(process.stdout)[Symbol.asyncIterator]();
  const { value, done } = await lines.next();
  if (done) throw new Error(`the server ended with status ${await exit}`);
  // What else it prints is not for the client.
  process.stdout.resume();
  running.add(process);
  const stop = () => {
    running.delete(process);
    process.kill('SIGTERM');
    return exit;
  };
  return { url: new URL(value), stop };
}

const running = new Set();
process.on('exit', () => running.forEach((server) => server.kill('SIGKILL')));
