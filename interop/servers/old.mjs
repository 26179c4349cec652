// A server written with an old official TypeScript SDK: the newest of those that know no
// revision after the one that is the argument.

const [revision] = process.argv.slice(2);
const sdk = `sdk-${revision}`;
const { Server } = await import(`${sdk}/server/index.js`);
const { StdioServerTransport } = await import(`${sdk}/server/stdio.js`);
const types = await import(`${sdk}/types.js`);

const server = new Server(
  { name: `old-${revision}`, version: '1.0.0' },
  {
    capabilities: {
      tools: { listChanged: true },
      resources: { subscribe: true },
      prompts: {},
      logging: {},
      // 2024-11-05 has completion, but no capability for it.
      ...(revision >= '2025-03-26' && { completions: {} }),
    },
    instructions: 'Add numbers.',
  },
);

const text = (words) => ({ type: 'text', text: words });
const numbers = { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] };
const nothing = { type: 'object' };

const tools = {
  add: {
    inputSchema: numbers,
    ...(revision >= '2025-03-26' && { annotations: { readOnlyHint: true } }),
    ...(revision >= '2025-06-18' && {
      title: 'Add',
      outputSchema: { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] },
    }),
    run: ({ a, b }) => ({
      content: [text(JSON.stringify({ sum: a + b }))],
      ...(revision >= '2025-06-18' && { structuredContent: { sum: a + b } }),
    }),
  },
  fail: { inputSchema: nothing, run: () => ({ content: [text('as requested')], isError: true }) },
  count: {
    inputSchema: { type: 'object', properties: { steps: { type: 'number' } } },
    run: async ({ steps }, { progressToken }) => {
      for (let progress = 1; progress <= steps; progress++) {
        const params = { progressToken, progress, total: steps };
        await server.notification({ method: 'notifications/progress', params });
      }
      return { content: [text(`counted to ${steps}`)] };
    },
  },
  log: {
    inputSchema: nothing,
    run: async () => {
      await server.sendLoggingMessage({ level: 'warning', logger: 'watch', data: 'look out' });
      return { content: [text('logged')] };
    },
  },
  write: {
    inputSchema: nothing,
    run: async () => {
      await server.sendResourceUpdated({ uri: 'note://all' });
      return { content: [text('written')] };
    },
  },
  think: {
    inputSchema: nothing,
    run: async () => {
      const messages = [{ role: 'user', content: text('The capital of France?') }];
      const { model, content } = await server.createMessage({ messages, maxTokens: 10 });
      return { content: [text(`${model} says ${content.text}`)] };
    },
  },
  where: {
    inputSchema: nothing,
    run: async () => {
      const { roots } = await server.listRoots();
      return { content: [text(roots.map((root) => root.uri).join(' '))] };
    },
  },
  ...(revision >= '2025-06-18' && {
    greet: {
      inputSchema: nothing,
      run: async () => {
        const requestedSchema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
        const { content } = await server.elicitInput({ message: 'Who are you?', requestedSchema });
        return { content: [text(`hello ${content.name}`)] };
      },
    },
  }),
};

// One page for each tool: every list has several.
server.setRequestHandler(types.ListToolsRequestSchema, ({ params }) => {
  const names = Object.keys(tools);
  const at = Number(params?.cursor ?? 0);
  const { run, ...tool } = tools[names[at]];
  const more = at + 1 < names.length && { nextCursor: String(at + 1) };
  return { tools: [{ name: names[at], ...tool }], ...more };
});
server.setRequestHandler(types.CallToolRequestSchema, ({ params }) =>
  tools[params.name].run(params.arguments ?? {}, params._meta ?? {}),
);

server.setRequestHandler(types.ListResourcesRequestSchema, () => ({
  resources: [{ uri: 'note://all', name: 'notes', mimeType: 'text/plain' }],
}));
server.setRequestHandler(types.ListResourceTemplatesRequestSchema, () => ({
  resourceTemplates: [{ uriTemplate: 'word://{word}', name: 'word' }],
}));
server.setRequestHandler(types.ReadResourceRequestSchema, ({ params: { uri } }) => {
  if (uri !== 'note://all') {
    throw new types.McpError(-32002, 'no such resource', { uri });
  }
  return { contents: [{ uri, mimeType: 'text/plain', text: 'first' }] };
});
server.setRequestHandler(types.SubscribeRequestSchema, () => ({}));
server.setRequestHandler(types.UnsubscribeRequestSchema, () => ({}));

server.setRequestHandler(types.ListPromptsRequestSchema, () => ({
  prompts: [{ name: 'review', arguments: [{ name: 'language', required: true }] }],
}));
server.setRequestHandler(types.GetPromptRequestSchema, ({ params }) => ({
  messages: [{ role: 'user', content: text(`Review this ${params.arguments.language}.`) }],
}));
server.setRequestHandler(types.CompleteRequestSchema, ({ params: { argument } }) => ({
  completion: { values: ['Python', 'Rust', 'TypeScript'].filter((it) => it.startsWith(argument.value)) },
}));
if (revision < '2025-06-18') {
  // Later SDKs do this by themselves.
  server.setRequestHandler(types.SetLevelRequestSchema, () => ({}));
}

await server.connect(new StdioServerTransport());
