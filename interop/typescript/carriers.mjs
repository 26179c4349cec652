// How a client reaches the demo server: over stdin and stdout, over Streamable HTTP, or over the
// HTTP+SSE of 2024-11-05.
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

export function http(Transport, options) {
  return async () => {
    const server = await serve();
    return { transport: new Transport(server.url, options), server };
  };
}

export function sse(Transport) {
  return async () => {
    const server = await serve('--legacy-sse');
    return { transport: new Transport(new URL('/sse', server.url)), server };
  };
}

// The server prints its URL when it can be reached.
export async function serve(...options) {
  const args = [...ARGS, '--http', '0', ...options];
  const child = spawn(COMMAND, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  const exit = new Promise((resolve) => child.on('exit', (code) => resolve(code)));
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const { value, done } = await lines.next();
  if (done) throw new Error(`the server ended with status ${await exit}`);
  // What else it prints is not for the client.
  child.stdout.resume();
  running.add(child);
  const stop = () => {
    running.delete(child);
    child.kill('SIGTERM');
    return exit;
  };
  return { url: new URL(value), stop };
}

const running = new Set();
process.on('exit', () => running.forEach((server) => server.kill('SIGKILL')));
