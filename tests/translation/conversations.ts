// Conversations independent of any format: how a caller writes one in each format, and how to read it from a body of each format.
import fc from 'fast-check';
import type { Json } from '../upstream/checks/check.js';
import type { WireName } from '../conformance/support/paths.js';

/** A call with its result. */
interface Exchange {
  readonly id: string;
  readonly name: string;
  readonly input: Json;
  readonly result: string;
}

/** What the assistant says and calls, the results it receives, and what the user then says. */
interface Turn {
  readonly said: string | null;
  readonly calls: readonly Exchange[];
  readonly asked: string;
  readonly image: string | null;
}

/** All of a prompt. */
export interface Conversation {
  readonly system: string | null;
  readonly asked: string;
  readonly turns: readonly Turn[];
  readonly tools: readonly { readonly name: string; readonly description: string; readonly schema: Json }[];
  readonly choice: 'auto' | 'none' | 'required' | 'first' | null;
  readonly stop: readonly string[];
}

// Any text that is not blank; both vendors reject blank texts.
const words = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 24 }).map((text) => `w${text}w`);
const toolName = fc.stringMatching(/^[a-zA-Z_][a-zA-Z0-9_-]{0,20}$/);
const key = fc.stringMatching(/^[a-z]{1,6}$/);
const input = fc.dictionary(key, fc.oneof(words, fc.integer(), fc.boolean(), fc.constant(null), fc.array(words, { maxLength: 3 })), {
  maxKeys: 4,
});
const schema = fc
  .uniqueArray(key, { maxLength: 3 })
  .map((names) => ({ type: 'object', properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])) }));

const conversation: fc.Arbitrary<Conversation> = fc
  .uniqueArray(fc.record({ name: toolName, description: words, schema }), { maxLength: 3, selector: ({ name }) => name })
  .chain((tools) => {
    const called = tools.length === 0 ? toolName : fc.constantFrom(...tools.map(({ name }) => name));
    const exchange = fc.record({
      id: fc.oneof(fc.uuid(), fc.stringMatching(/^[a-zA-Z0-9_:.-]{1,20}$/)),
      name: called,
      input,
      result: words,
    });
    const turn = fc
      .record({
        said: fc.option(words),
        calls: tools.length === 0 ? fc.constant([]) : fc.array(exchange, { maxLength: 3 }),
        asked: words,
        image: fc.option(fc.base64String({ minLength: 4, maxLength: 16 })),
      })
      // A turn of the assistant has a text or a tool call.
      .map((each) => ({ ...each, said: each.calls.length === 0 ? (each.said ?? 'wOKw') : each.said }));
    return fc.record({
      system: fc.option(words),
      asked: words,
      turns: fc.array(turn, { maxLength: 4 }).map(withOwnIds),
      tools: fc.constant(tools),
      choice: tools.length === 0 ? fc.constant(null) : fc.constantFrom('auto', 'none', 'required', 'first', null),
      stop: fc.uniqueArray(words, { maxLength: 3 }),
    });
  });

/** Any conversation that ends with the user, whose calls all have their results. Those of the responses format have no stop sequences. */
export function conversationFor(client: WireName, upstream: WireName): fc.Arbitrary<Conversation> {
  return client === 'responses' || upstream === 'responses' ? conversation.map((each) => ({ ...each, stop: [] })) : conversation;
}

/** Ids that stay unique in the conversation when characters that a vendor rejects are replaced. */
function withOwnIds(turns: readonly Turn[]): Turn[] {
  return turns.map((turn, at) => ({
    ...turn,
    calls: turn.calls.map((call, index) => ({ ...call, id: `${call.id.slice(0, 30)}_${at}_${index}` })),
  }));
}

/** Returns the body of a caller of this format. */
export function writtenIn(format: WireName, conversation: Conversation): Json {
  return { 'chat-completions': chatBody, messages: messagesBody, responses: responsesBody }[format](conversation);
}

function chatBody({ system, asked, turns, tools, choice, stop }: Conversation): Json {
  const shown = (image: string): Json => ({ type: 'image_url', image_url: { url: `data:image/png;base64,${image}` } });
  return {
    model: 'm',
    max_completion_tokens: 500,
    messages: [
      ...(system === null ? [] : [{ role: 'system', content: system }]),
      { role: 'user', content: asked },
      ...turns.flatMap(({ said, calls, asked: next, image }) => [
        {
          role: 'assistant',
          content: said,
          ...(calls.length === 0
            ? {}
            : {
                tool_calls: calls.map(({ id, name, input: args }) => ({
                  id,
                  type: 'function',
                  function: { name, arguments: JSON.stringify(args) },
                })),
              }),
        },
        ...calls.map(({ id, result }) => ({ role: 'tool', tool_call_id: id, content: result })),
        { role: 'user', content: image === null ? next : [{ type: 'text', text: next }, shown(image)] },
      ]),
    ],
    ...(tools.length === 0
      ? {}
      : {
          tools: tools.map(({ name, description, schema: parameters }) => ({
            type: 'function',
            function: { name, description, parameters },
          })),
        }),
    ...(choice === null ? {} : { tool_choice: choice === 'first' ? { type: 'function', function: { name: tools[0]!.name } } : choice }),
    ...(stop.length === 0 ? {} : { stop }),
  };
}

function messagesBody({ system, asked, turns, tools, choice, stop }: Conversation): Json {
  const choices = {
    auto: { type: 'auto' },
    none: { type: 'none' },
    required: { type: 'any' },
    first: { type: 'tool', name: tools[0]?.name },
  };
  return {
    model: 'm',
    max_tokens: 500,
    ...(system === null ? {} : { system }),
    messages: [
      { role: 'user', content: asked },
      ...turns.flatMap(({ said, calls, asked: next, image }) => [
        {
          role: 'assistant',
          content: [
            ...(said === null ? [] : [{ type: 'text', text: said }]),
            ...calls.map(({ id, name, input: args }) => ({ type: 'tool_use', id, name, input: args })),
          ],
        },
        {
          role: 'user',
          content: [
            ...calls.map(({ id, result }) => ({ type: 'tool_result', tool_use_id: id, content: result })),
            { type: 'text', text: next },
            ...(image === null ? [] : [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: image } }]),
          ],
        },
      ]),
    ],
    ...(tools.length === 0
      ? {}
      : { tools: tools.map(({ name, description, schema: input_schema }) => ({ name, description, input_schema })) }),
    ...(choice === null ? {} : { tool_choice: choices[choice] }),
    ...(stop.length === 0 ? {} : { stop_sequences: stop }),
  };
}

function responsesBody({ system, asked, turns, tools, choice }: Conversation): Json {
  return {
    model: 'm',
    max_output_tokens: 500,
    ...(system === null ? {} : { instructions: system }),
    input: [
      { role: 'user', content: asked },
      ...turns.flatMap(({ said, calls, asked: next, image }) => [
        ...(said === null ? [] : [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: said }] }]),
        ...calls.map(({ id, name, input: args }) => ({ type: 'function_call', call_id: id, name, arguments: JSON.stringify(args) })),
        ...calls.map(({ id, result }) => ({ type: 'function_call_output', call_id: id, output: result })),
        {
          role: 'user',
          content:
            image === null
              ? next
              : [
                  { type: 'input_text', text: next },
                  { type: 'input_image', image_url: `data:image/png;base64,${image}` },
                ],
        },
      ]),
    ],
    ...(tools.length === 0
      ? {}
      : {
          tools: tools.map(({ name, description, schema: parameters }) => ({
            type: 'function',
            name,
            description,
            parameters,
            strict: false,
          })),
        }),
    ...(choice === null ? {} : { tool_choice: choice === 'first' ? { type: 'function', name: tools[0]!.name } : choice }),
  };
}

/** Returns everything in a prompt, in order, one line each; a result refers to its call by the position of the call. */
export function transcriptOf({ system, asked, turns, tools, choice, stop }: Conversation): string[] {
  let place = 0;
  return [
    ...(system === null ? [] : [`system ${system}`]),
    `user ${asked}`,
    ...turns.flatMap(({ said, calls, asked: next, image }) => {
      const first = place;
      place += calls.length;
      return [
        ...(said === null ? [] : [`assistant ${said}`]),
        ...calls.map(({ name, input: args }) => `call ${name} ${JSON.stringify(args)}`),
        ...calls.map(({ result }, index) => `result ${first + index} ${result}`),
        `user ${next}`,
        ...(image === null ? [] : [`image ${image}`]),
      ];
    }),
    ...tools.map(({ name, description, schema: parameters }) => `tool ${name} ${description} ${JSON.stringify(parameters)}`),
    ...(choice === null || choice === 'auto' ? [] : [`choice ${choice === 'first' ? tools[0]!.name : choice}`]),
    ...stop.map((sequence) => `stop ${sequence}`),
  ];
}

/** Returns the same for a body for an upstream of this format. */
export function readFrom(format: WireName, body: Json): string[] {
  return { 'chat-completions': readChat, messages: readMessages, responses: readResponses }[format](body);
}

const list = (value: unknown): Json[] => (value ?? []) as Json[];
const parts = (content: unknown): Json[] => (typeof content === 'string' ? [{ type: 'text', text: content }] : list(content));

function readChat(body: Json): string[] {
  const ids: unknown[] = [];
  const lines = list(body['messages']).flatMap((message): string[] => {
    const {
      role,
      content,
      tool_calls: calls,
      tool_call_id: id,
    } = message as { role: string; content: unknown; tool_calls?: Json[]; tool_call_id?: string };
    if (role === 'tool')
      return [
        `result ${ids.indexOf(id)} ${parts(content)
          .map(({ text }) => text as string)
          .join('\n')}`,
      ];
    const said = parts(content).map((part) => {
      const url = (part['image_url'] as { url: string } | undefined)?.url;
      return url === undefined ? `${role} ${part['text'] as string}` : `image ${url.replace('data:image/png;base64,', '')}`;
    });
    const called = list(calls).map((call) => {
      ids.push(call['id']);
      const { name, arguments: args } = call['function'] as { name: string; arguments: string };
      return `call ${name} ${JSON.stringify(JSON.parse(args))}`;
    });
    return [...said, ...called];
  });
  const tools = list(body['tools']).map((tool) => {
    const { name, description, parameters } = tool['function'] as Json;
    return `tool ${name as string} ${description as string} ${JSON.stringify(parameters)}`;
  });
  const choice = body['tool_choice'] as string | { function: { name: string } } | undefined;
  const chosen = typeof choice === 'object' ? choice.function.name : choice;
  return [
    ...lines,
    ...tools,
    ...(chosen === undefined || chosen === 'auto' ? [] : [`choice ${chosen}`]),
    ...((body['stop'] ?? []) as string[]).map((sequence) => `stop ${sequence}`),
  ];
}

function readMessages(body: Json): string[] {
  const ids: unknown[] = [];
  const lines = list(body['messages']).flatMap((message): string[] => {
    return parts(message['content']).map((block) => {
      switch (block['type']) {
        case 'tool_use':
          ids.push(block['id']);
          return `call ${block['name'] as string} ${JSON.stringify(block['input'])}`;
        case 'tool_result':
          return `result ${ids.indexOf(block['tool_use_id'])} ${parts(block['content'])
            .map(({ text }) => text as string)
            .join('\n')}`;
        case 'image':
          return `image ${(block['source'] as { data: string }).data}`;
        default:
          return `${message['role'] as string} ${block['text'] as string}`;
      }
    });
  });
  const tools = list(body['tools']).map(
    ({ name, description, input_schema }) => `tool ${name as string} ${description as string} ${JSON.stringify(input_schema)}`,
  );
  const choice = body['tool_choice'] as { type: string; name?: string } | undefined;
  const chosen = choice?.name ?? (choice?.type === 'any' ? 'required' : choice?.type);
  return [
    ...parts(body['system'] ?? []).map(({ text }) => `system ${text as string}`),
    ...lines,
    ...tools,
    ...(chosen === undefined || chosen === 'auto' ? [] : [`choice ${chosen}`]),
    ...((body['stop_sequences'] ?? []) as string[]).map((sequence) => `stop ${sequence}`),
  ];
}

function readResponses(body: Json): string[] {
  const ids: unknown[] = [];
  const lines = list(body['input']).flatMap((item): string[] => {
    const { type, role, content, name, arguments: args, call_id: id, output } = item as Record<string, string>;
    if (type === 'function_call') {
      ids.push(id);
      return [`call ${name} ${JSON.stringify(JSON.parse(args!))}`];
    }
    if (type === 'function_call_output') return [`result ${ids.indexOf(id)} ${output}`];
    return parts(content).map((part) =>
      part['type'] === 'input_image'
        ? `image ${(part['image_url'] as string).replace('data:image/png;base64,', '')}`
        : `${role} ${part['text'] as string}`,
    );
  });
  const choice = body['tool_choice'] as string | { name: string } | undefined;
  const chosen = typeof choice === 'object' ? choice.name : choice;
  return [
    ...(body['instructions'] === undefined ? [] : [`system ${body['instructions'] as string}`]),
    ...lines,
    ...list(body['tools']).map(
      ({ name, description, parameters }) => `tool ${name as string} ${description as string} ${JSON.stringify(parameters)}`,
    ),
    ...(chosen === undefined || chosen === 'auto' ? [] : [`choice ${chosen}`]),
  ];
}
