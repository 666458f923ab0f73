// What a caller must not reach through its own fields: another cap, more answers, features that cost more than tokens, and the operator's account.
import { describe, expect, it } from '@jest/globals';
import { parseChatCompletions } from './chat-completions/request.js';
import { redirecting } from '#rules/request-fields.js';
import type { ParsedCall } from './format.js';
import { parseMessages } from './messages/request.js';

const messages = [{ role: 'user', content: 'hi' }];
const formats: [string, (more: object) => ParsedCall][] = [
  ['chat-completions', (more) => parseChatCompletions({ model: 'm', messages, ...more })],
  ['messages', (more) => parseMessages({ model: 'm', max_tokens: 9, messages, ...more }, {})],
];

describe.each(formats)('a %s body', (_name, parse) => {
  it('sends upstreams no other cap, number of answers, server or stored conversation', () => {
    for (const name of [...redirecting, 'Max_Output_Tokens', 'N_PREDICT', 'container']) {
      const parsed = parse({ [name]: 5 });
      expect([name, JSON.parse(parsed.request.native!.fieldsJson)]).toEqual([name, { messages }]);
      expect(parsed.droppedFields).toEqual([name]);
    }
  });

  it('cannot have a vendor run what costs more than tokens, whatever its spelling', () => {
    const types = ['openrouter:web_search', 'Web_Search', 'web_fetch', 'code_execution_20250825', 'mcp_toolset'];
    for (const type of types) expect(() => parse({ tools: [{ type, name: 'x' }] })).toThrow('cost more than tokens');
    expect(() => parse({ plugins: [{ id: 'web' }] })).toThrow('costs more than tokens');
  });

  it('may have a tool that searches the tools', () => {
    expect(() => parse({ tools: [{ type: 'tool_search_tool_regex_20251119', name: 'x' }] })).not.toThrow();
  });
});

it.each([
  'builtin_function',
  'browser_search',
  'web_search_premium',
  'document_library',
  'image_generation',
  'retrieval',
  'googleSearch',
  'collections_search',
])('a chat-completions tool of type %s is refused, because its vendor runs it', (type) => {
  expect(() => parseChatCompletions({ model: 'm', messages, tools: [{ type, function: { name: '$web_search' } }] })).toThrow(
    'cost more than tokens',
  );
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
