// What a caller must not reach through its own fields: another cap, more answers, features that cost more than tokens, and the operator's account.
import { describe, expect, it } from '@jest/globals';
import { parseChatCompletions } from './chat-completions/request.js';
import { redirecting } from '#rules/wire/request-fields.js';
import type { ParsedCall } from './format.js';
import { parseMessages } from './messages/request.js';
import { parseResponses } from './responses/request.js';

const messages = [{ role: 'user', content: 'hi' }];
const formats: [string, (more: object) => ParsedCall][] = [
  ['chat-completions', (more) => parseChatCompletions({ model: 'm', messages, ...more })],
  ['messages', (more) => parseMessages({ model: 'm', max_tokens: 9, messages, ...more }, {})],
  ['responses', (more) => parseResponses({ model: 'm', input: messages, ...more })],
];
/** Fields of the responses format, which honours its cap and refuses the others by name. */
const inResponses: readonly string[] = ['max_output_tokens', 'previous_response_id', 'conversation'];

describe.each(formats)('a %s body', (format, parse) => {
  it('sends upstreams no other cap, number of answers, server or stored conversation', () => {
    for (const name of [...redirecting, 'Max_Output_Tokens', 'N_PREDICT', 'container']) {
      if (format === 'responses' && inResponses.includes(name)) continue;
      const parsed = parse({ [name]: 5 });
      expect([name, JSON.parse(parsed.request.native!.fieldsJson)]).toEqual([
        name,
        format === 'responses' ? { input: messages } : { messages },
      ]);
      expect(parsed.droppedFields).toEqual([name]);
    }
  });

  it('leaves it to the upstream whether a vendor may run tools that cost more than tokens, whatever their spelling', () => {
    const types = ['openrouter:web_search', 'Web_Search', 'web_fetch', 'code_execution_20250825', 'mcp_toolset', 'invented_tomorrow'];
    for (const type of types) {
      const { vendorTools } = parse({
        tools: [
          { type, name: 'x' },
          { type, name: 'y' },
        ],
      }).request.native!;
      expect(vendorTools).toEqual([{ field: expect.stringMatching(/^tools(\.0|\[0\])\.type$/), type, unit: '' }]);
    }
    const many = Array.from({ length: 17 }, (_, index) => ({ type: `web_search_${index}`, name: `x${index}` }));
    expect(() => parse({ tools: many })).toThrow('at most 16 types of tools that a vendor runs');
    expect(() => parse({ plugins: [{ id: 'web' }] })).toThrow('plugins are not supported');
  });
});

it('a messages body may have tools that the client runs, and the search among its tools', () => {
  for (const type of ['bash_20250124', 'computer_toolset_20260801', 'tool_search_tool_regex_20251119']) {
    const { request } = parseMessages({ model: 'm', max_tokens: 9, messages, tools: [{ type, name: 'x' }] }, {});
    expect(request.native!.vendorTools).toEqual([]);
  }
});

describe('a messages block without a common form', () => {
  const documentsOf = (block: object) =>
    parseMessages({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: [{ type: 'text', text: 'x' }, block] }] }, {}).documents;

  it('may fill the context if its tokens cannot be derived from its bytes', () => {
    expect(documentsOf({ type: 'video', source: { type: 'url', url: 'https://example.com/long' } })).toBe(1);
    const page = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' } };
    expect(
      documentsOf({
        type: 'web_fetch_tool_result',
        tool_use_id: 'a',
        content: { type: 'web_fetch_result', url: 'https://example.com', content: page },
      }),
    ).toBe(1);
    expect(documentsOf({ type: 'document', source: { type: 'content', content: [page] } })).toBe(1);
  });

  it('is counted by its bytes if it is only text', () => {
    expect(documentsOf({ type: 'web_search_tool_result', tool_use_id: 'a', content: [] })).toBe(0);
  });
});
