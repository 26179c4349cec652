// A server written with the newest official TypeScript SDK. It speaks 2026-07-28, and the
// handshake of those before it.

import {
  McpServer,
  ResourceTemplate,
  acceptedContent,
  completable,
  inputRequired,
  inputResponse,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const NOTES = 'note://all';
const notes = ['first'];

const text = (words) => ({ content: [{ type: 'text', text: words }] });

function addTools(server) {
  const numbers = z.object({ a: z.number(), b: z.number() });
  server.registerTool(
    'add',
    {
      title: 'Add',
      inputSchema: numbers,
      outputSchema: z.object({ sum: z.number() }),
      annotations: { readOnlyHint: true, idempotentHint: true },
    },
    async ({ a, b }) => ({ ...text(String(a + b)), structuredContent: { sum: a + b } }),
  );
  server.registerTool('fail', {}, async () => {
    throw new Error('as requested');
  });
  // Says how far it is, and ends when it is cancelled, or not at all.
  server.registerTool('wait', { inputSchema: z.object({ steps: z.number() }) }, async ({ steps }, ctx) => {
    const progressToken = ctx.mcpReq._meta?.progressToken;
    for (let progress = 1; progress <= steps; progress++) {
      const params = { progressToken, progress, total: steps, message: `step ${progress}` };
      await ctx.mcpReq.notify({ method: 'notifications/progress', params });
    }
    await new Promise((resolve) => ctx.mcpReq.signal.addEventListener('abort', resolve));
    return text('cancelled');
  });
  server.registerTool('count', { inputSchema: z.object({ steps: z.number() }) }, async ({ steps }, ctx) => {
    const progressToken = ctx.mcpReq._meta?.progressToken;
    for (let progress = 1; progress <= steps; progress++) {
      const params = { progressToken, progress, total: steps };
      await ctx.mcpReq.notify({ method: 'notifications/progress', params });
    }
    return text(`counted to ${steps}`);
  });
  server.registerTool('log', {}, async (ctx) => {
    await ctx.mcpReq.log('debug', 'too little to tell');
    await ctx.mcpReq.log('warning', 'look out', 'watch');
    return text('logged');
  });
  server.registerTool('write', { inputSchema: z.object({ note: z.string() }) }, async ({ note }) => {
    notes.push(note);
    await server.server.sendResourceUpdated({ uri: NOTES });
    return text(`${notes.length} notes`);
  });
  server.registerTool('grow', {}, async () => {
    server.registerTool('grown', {}, async () => text('grown'));
    return text('there is one more');
  });
}

// In 2026-07-28 questions are asked in the result; the SDK asks an older client by itself.
function addQuestions(server) {
  const form = z.object({ name: z.string() });
  server.registerTool('greet', {}, async (ctx) => {
    const answered = acceptedContent(ctx.mcpReq.inputResponses, 'who', form);
    if (answered) {
      return text(`hello ${answered.name}`);
    }
    const who = inputRequired.elicit({ message: 'Who are you?', requestedSchema: form });
    return inputRequired({ inputRequests: { who } });
  });
  server.registerTool('think', {}, async (ctx) => {
    const thought = inputResponse(ctx.mcpReq.inputResponses, 'thought');
    if (thought.kind === 'sampling') {
      return text(`${thought.result.model} says ${thought.result.content.text}`);
    }
    const messages = [{ role: 'user', content: { type: 'text', text: 'The capital of France?' } }];
    const asked = inputRequired.createMessage({ messages, maxTokens: 10 });
    return inputRequired({ inputRequests: { thought: asked } });
  });
  server.registerTool('where', {}, async (ctx) => {
    const where = inputResponse(ctx.mcpReq.inputResponses, 'where');
    if (where.kind === 'roots') {
      return text(where.roots.map((root) => root.uri).join(' '));
    }
    return inputRequired({ inputRequests: { where: inputRequired.listRoots() } });
  });
}

function addResources(server) {
  server.registerResource('notes', NOTES, { mimeType: 'text/plain' }, async (uri) => ({
    contents: [{ uri: uri.href, mimeType: 'text/plain', text: notes.join('\n') }],
  }));
  const words = ['knot', 'knife', 'rope'];
  const template = new ResourceTemplate('word://{word}', {
    list: undefined,
    complete: { word: (typed) => words.filter((word) => word.startsWith(typed)) },
  });
  server.registerResource('word', template, {}, async (uri, { word }) => ({
    contents: [{ uri: uri.href, text: `the word ${word}` }],
  }));
}

function addPrompts(server) {
  const languages = ['Python', 'Rust', 'TypeScript'];
  const complete = (typed) => languages.filter((language) => language.startsWith(typed));
  const argsSchema = z.object({ language: completable(z.string(), complete) });
  server.registerPrompt('review', { title: 'Review', argsSchema }, ({ language }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Review this ${language}.` } }],
  }));
}

serveStdio(() => {
  const server = new McpServer(
    { name: 'typescript-2026', version: '1.0.0' },
    {
      capabilities: { logging: {}, resources: { subscribe: true, listChanged: true } },
      instructions: 'Add numbers.',
      cacheHints: { 'prompts/list': { ttlMs: 60_000, cacheScope: 'public' } },
    },
  );
  addTools(server);
  addQuestions(server);
  addResources(server);
  addPrompts(server);
  return server;
});
