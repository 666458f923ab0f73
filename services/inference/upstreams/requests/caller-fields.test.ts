import { describe, expect, it } from '@jest/globals';
import { ApiFormat } from '#proto/inference/v1/inference.js';
import { textRequest } from '../../testing/fixtures.js';
import { chatCompletionsWire } from '../chat-completions/wire.js';
import { messagesWire } from '../messages/wire.js';

const chat = ApiFormat.API_FORMAT_CHAT_COMPLETIONS;
const wires = {
  openAi: chatCompletionsWire('u', 'https://api.openai.com/v1'),
  compatible: chatCompletionsWire('u', 'http://10.0.0.1:8080/v1'),
  anthropic: messagesWire('u', 'https://api.anthropic.com/v1'),
};

/** Returns what an upstream gets of a caller's other fields, and what is dropped, with a cap of 1000 output tokens. */
function sentTo(wire: ReturnType<typeof chatCompletionsWire>, others: object | string) {
  const otherFieldsJson = typeof others === 'string' ? others : JSON.stringify(others);
  const native = { format: wire.format, fieldsJson: '{"messages":[]}', otherFieldsJson };
  const { json, dropped } = wire.generateBody(textRequest('Hi', { native, maxOutputTokens: 1000 }), 'm', true);
  const plain = wire.generateBody(textRequest('Hi', { native: { ...native, otherFieldsJson: '' }, maxOutputTokens: 1000 }), 'm', true);
  expect(plain.dropped).toEqual([]);
  const known = new Set(Object.keys(JSON.parse(plain.json) as object));
  const sent = Object.entries(JSON.parse(json) as object).filter(([name]) => !known.has(name));
  return { sent: Object.fromEntries(sent) as object, json, dropped };
}

/** Fields that may request work that tokens do not pay for. */
const costly = {
  web_search: true,
  num_completions: 8,
  candidate_count: 8,
  use_beam_search: true,
  beam_width: 16,
  prompt_logprobs: 20,
  generation_config: { max_output_tokens: 100_000 },
  options: { num_predict: 100_000, num_ctx: 1_000_000 },
  priority: -1,
  invented_tomorrow: { deep: [1] },
};

describe('tools that a vendor runs', () => {
  const sending = (wire: ReturnType<typeof chatCompletionsWire>, ...types: string[]) => {
    const vendorTools = types.map((type, index) => ({ field: `tools[${index}].type`, type }));
    return () =>
      wire.generateBody(textRequest('Hi', { native: { format: wire.format, fieldsJson: '{"messages":[]}', vendorTools } }), 'm', true);
  };

  it('reach an upstream whose operator allows their type, and no other', () => {
    const allowed = messagesWire('u', 'https://api.anthropic.com/v1', ['tools.web_search_20250305']);
    expect(sending(allowed, 'web_search_20250305')).not.toThrow();
    expect(sending(allowed, 'web_search_20250305', 'web_search_20260318')).toThrow(
      'tools[1].type: tools of the type "web_search_20260318"',
    );
    for (const wire of Object.values(wires)) expect(sending(wire, 'web_search')).toThrow('cost more than tokens');
  });

  it('reach an upstream if the call pays for their unit, at most as often as it pays for', () => {
    const tool = { type: 'web_search_20250305', name: 'web_search', max_uses: 9 };
    const fieldsJson = JSON.stringify({ messages: [], tools: [{ name: 'own', input_schema: {} }, tool] });
    const vendorTools = [{ field: 'tools[1].type', type: tool.type, unit: 'web_search' }];
    const native = { format: ApiFormat.API_FORMAT_MESSAGES, fieldsJson, vendorTools };
    const sent = (count: number) =>
      JSON.parse(
        wires.anthropic.generateBody(textRequest('Hi', { native, unitCaps: { counts: [{ unit: 'web_search', count }] } }), 'm', true).json,
      ) as { tools: object[] };
    expect(sent(2).tools).toEqual([
      { name: 'own', input_schema: {} },
      { ...tool, max_uses: 2 },
    ]);
    expect(sent(20).tools[1]).toEqual(tool);
    expect(() => wires.anthropic.generateBody(textRequest('Hi', { native }), 'm', true)).toThrow('no price for the unit "web_search"');
    expect(wires.anthropic.count!.body(textRequest('Hi', { native }), 'm')).toContain('web_search_20250305');
  });

  it('are not counted as output: the part of the total beyond the output may be their results', () => {
    const wire = chatCompletionsWire('u', 'https://u.example/v1', ['tools.google_search']);
    const vendorTools = [{ field: 'tools[0].type', type: 'google_search' }];
    const answer = { target: { upstreamId: 'u', upstreamModel: 'm' }, requestId: '', droppedFields: [], isNative: true };
    const outputOf = (tools: typeof vendorTools) => {
      const decoder = wire.decoder(textRequest('Hi', { native: { format: chat, fieldsJson: '{}', vendorTools: tools } }), answer);
      decoder.push('{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":1,"total_tokens":103}}');
      return decoder.report.output;
    };
    expect(outputOf([])).toEqual({ outputTokens: 94, reasoningTokens: 93 });
    expect(outputOf(vendorTools)).toEqual({ outputTokens: 1, reasoningTokens: 0 });
  });

  it('are only sent in their own format', () => {
    const native = { format: chat, fieldsJson: '{}', vendorTools: [{ field: 'tools[0].type', type: 'web_search' }] };
    expect(() => wires.anthropic.generateBody(textRequest('Hi', { native }), 'm', true)).not.toThrow();
  });
});

describe('beta flags', () => {
  const flags = [
    'claude-code-20250219',
    'context-1m-2025-08-07',
    'effort-2025-11-24',
    'mcp-client-2025-11-20',
    'effort',
    'tomorrow-2027-01-01',
  ];
  const request = textRequest('Hi', {
    native: { format: ApiFormat.API_FORMAT_MESSAGES, fieldsJson: '{"messages":[]}', messagesBetas: flags },
  });

  it('reach an upstream if they cost nothing but tokens, or if its operator allows them; others are named', () => {
    expect(wires.anthropic.headers(undefined, request)['anthropic-beta']).toBe('claude-code-20250219,effort-2025-11-24');
    expect(wires.anthropic.generateBody(request, 'm', true).dropped).toEqual([
      'anthropic-beta.context-1m-2025-08-07',
      'anthropic-beta.mcp-client-2025-11-20',
      'anthropic-beta.effort',
      'anthropic-beta.tomorrow-2027-01-01',
    ]);
    const allowing = messagesWire('u', 'https://api.anthropic.com/v1', ['anthropic-beta.context-1m-2025-08-07']);
    expect(allowing.headers(undefined, request)['anthropic-beta']).toBe('claude-code-20250219,context-1m-2025-08-07,effort-2025-11-24');
  });
});

describe("a caller's request fields in addition to the published ones", () => {
  it.each(Object.keys(wires) as (keyof typeof wires)[])(
    'that cost more than tokens do not reach an upstream of kind %s, and are named',
    (kind) => {
      const { sent, dropped } = sentTo(wires[kind], costly);
      expect(sent).toEqual({});
      expect(dropped).toEqual(Object.keys(costly));
    },
  );

  it('reach other servers where those publish them, and not the vendors that do not', () => {
    const published = { min_p: 0.1, repetition_penalty: 1.1, grammar: 'root ::= "a"', chat_template_kwargs: { enable_thinking: false } };
    expect(sentTo(wires.compatible, published)).toMatchObject({ sent: published, dropped: [] });
    expect(sentTo(wires.openAi, published)).toMatchObject({ sent: {}, dropped: Object.keys(published) });
  });

  it('set no thinking budget at or above the output cap, under any of its names', () => {
    const budgets = (tokens: number) => ({
      thinking: { type: 'enabled', budget_tokens: tokens },
      reasoning: { enabled: true, max_tokens: tokens },
      thinking_budget: tokens,
      thinking_token_budget: tokens,
      chat_template_kwargs: { thinking_budget: tokens },
    });
    expect(sentTo(wires.compatible, budgets(999))).toMatchObject({ sent: budgets(999), dropped: [] });
    for (const tokens of [1000, 64_000, -1, 1.5]) {
      expect(sentTo(wires.compatible, budgets(tokens))).toMatchObject({
        sent: { thinking: { type: 'enabled' }, reasoning: { enabled: true } },
        dropped: [
          'thinking.budget_tokens',
          'reasoning.max_tokens',
          'thinking_budget',
          'thinking_token_budget',
          'chat_template_kwargs.thinking_budget',
        ],
      });
    }
  });

  it('do not reach a server as __proto__, at any depth that we admit field by field', () => {
    const { json, dropped } = sentTo(wires.compatible, '{"__proto__":{"n":9},"thinking":{"type":"enabled","__proto__":{"n":9}}}');
    expect(json).not.toContain('__proto__');
    expect(dropped).toEqual(['__proto__', 'thinking.__proto__']);
  });

  it('reach an upstream if its operator allows them, whole or one part of them', () => {
    const wire = chatCompletionsWire('u', 'https://api.openai.com/v1', ['guardrails', 'options.num_ctx', 'options.deep.er']);
    expect(
      sentTo(wire, { guardrails: { any: [1] }, options: { num_ctx: 4096, num_predict: 9, deep: { er: 1, est: 2 } }, web_search: true }),
    ).toMatchObject({
      sent: { guardrails: { any: [1] }, options: { num_ctx: 4096, deep: { er: 1 } } },
      dropped: ['options.num_predict', 'options.deep.est', 'web_search'],
    });
    expect(sentTo(messagesWire('u', 'https://x.test/v1', ['top_a']), { top_a: 1 })).toMatchObject({ sent: { top_a: 1 }, dropped: [] });
  });

  it('have bounded, printable names where they are dropped, because these are returned in a header', () => {
    const many = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`x${index}`, 1]));
    expect(sentTo(wires.compatible, { 'a\r\nset-cookie: b': 1, é: 1, ...many }).dropped).toEqual(Object.keys(many).slice(0, 32));
  });

  it('are not read for an upstream of another format', () => {
    const native = { format: chat, fieldsJson: '{}', otherFieldsJson: '{"min_p":1}', droppedElsewhere: ['min_p'] };
    const { json, dropped } = wires.anthropic.generateBody(textRequest('Hi', { native }), 'm', true);
    expect([json.includes('min_p'), dropped]).toEqual([false, ['min_p']]);
  });
});
