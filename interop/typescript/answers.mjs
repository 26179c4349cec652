// What the clients answer when the server asks them.

export const CAPABILITIES = {
  elicitation: { form: {}, url: {} },
  sampling: {},
  roots: { listChanged: true },
};

// `will.decline` makes the person unwilling.
export const will = { decline: false };

export async function elicit({ params }) {
  if (will.decline) return { action: 'decline' };
  if (params.mode === 'url') return { action: 'accept' };
  const known = { name: 'Ada', age: 36, weight: 61.5, sails: true, knot: 'bowline', why: 'it holds' };
  const fields = Object.keys(params.requestedSchema.properties);
  return { action: 'accept', content: Object.fromEntries(fields.map((it) => [it, known[it]])) };
}

export async function sample({ params }) {
  const [{ content }] = params.messages;
  const { text } = Array.isArray(content) ? content[0] : content;
  return { role: 'assistant', model: 'model-1', content: { type: 'text', text: `${text} 42.` } };
}

export async function roots() {
  return { roots: [{ uri: 'file:///home/ada', name: 'home' }, { uri: 'file:///tmp' }] };
}
