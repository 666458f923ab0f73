import { readFileSync } from 'node:fs';
import { describe, expect, it, jest } from '@jest/globals';
import { encodeChat } from 'gpt-tokenizer/model/gpt-4o';
import { Prompt, Role } from '#proto/inference/v1/inference.js';
import { readable } from '../testing/readable.js';
import { estimateInput, roughInput } from './estimate.js';
import { inputTokensMax } from './prompt-text.js';

// Starting a thread and loading the vocabulary take a while on a busy machine.
jest.setTimeout(60_000);

const file = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8').slice(0, 20_000);
const samples: Readonly<Record<string, string>> = {
  greeting: 'Hello, how are you?',
  prose: file('../../../docs/charging.md'),
  code: file('./meter.ts'),
  json: JSON.stringify(Array.from({ length: 200 }, (_, id) => ({ id, name: `item ${id}`, price: id * 1.5, tags: ['a', 'b'] }))),
  German: 'Die Abrechnung stimmt immer, auch wenn eine Antwort in der Mitte abbricht oder die Verbindung verloren geht. '.repeat(20),
  Russian: 'Счёт всегда верен, даже если ответ прервался посередине или соединение потеряно. '.repeat(20),
  Chinese: '账单永远是正确的,即使回答在中途中断,或者连接丢失。'.repeat(20),
};

const conversation = (text: string): Prompt =>
  Prompt.fromPartial({
    system: ['You are a helpful assistant.'],
    messages: [
      { role: Role.ROLE_USER, parts: [{ part: { $case: 'text', value: { text } } }] },
      { role: Role.ROLE_ASSISTANT, parts: [{ part: { $case: 'text', value: { text: 'I see.' } } }] },
      { role: Role.ROLE_USER, parts: [{ part: { $case: 'text', value: { text: 'Go on.' } } }] },
    ],
  });

/** Returns what the vendor counts, by its published vocabulary and the framing of its messages. */
const exact = (text: string): number =>
  encodeChat([
    { role: 'system', content: 'You are a helpful assistant.' },
    { role: 'user', content: text },
    { role: 'assistant', content: 'I see.' },
    { role: 'user', content: 'Go on.' },
  ]).length;

describe('the estimate of a text prompt', () => {
  it.each(Object.entries(samples))('is what the vendor of o200k counts, within a few tokens: %s', async (_name, text) => {
    const estimated = await estimateInput(readable(conversation(text)), 'gpt-4o');
    // A cut through a word costs a token, one in 2000 characters.
    expect(Math.abs(estimated - exact(text))).toBeLessThanOrEqual(4 + text.length / 2000);
  });

  it.each(Object.entries(samples))('is close to it in the quick estimate: %s', (_name, text) => {
    const ratio = roughInput(readable(conversation(text)), 'gpt-4o') / exact(text);
    expect(ratio).toBeGreaterThan(0.6);
    expect(ratio).toBeLessThan(1.9);
  });

  it('is larger for Claude, by its generation', async () => {
    const tokens = async (model: string): Promise<number> => estimateInput(readable(conversation(samples['prose']!)), model);
    const [plain, older, newer] = [await tokens('gpt-5'), await tokens('claude-haiku-4-5'), await tokens('anthropic/claude-opus-5-5')];
    expect(older / plain).toBeCloseTo(1.12, 1);
    expect(newer / plain).toBeCloseTo(1.5, 1);
  });

  it('includes the tools and the schema of the answer', async () => {
    const prompt = conversation('Hi');
    const plain = await estimateInput(readable(prompt), 'gpt-5');
    const tools = [{ name: 'f', description: 'F', parametersJson: '{"type":"object"}', strict: undefined }];
    expect(await estimateInput(readable({ ...prompt, tools }), 'gpt-5')).toBeGreaterThan(plain + 20);
    const responseFormat = {
      format: {
        $case: 'jsonSchema' as const,
        value: { name: '', description: '', schemaJson: JSON.stringify({ enum: ['red', 'green', 'blue'] }), strict: undefined },
      },
    };
    expect(await estimateInput(readable(prompt, responseFormat), 'gpt-5')).toBeGreaterThan(plain + 8);
  });

  it('is never above the bound that the hold is based on', async () => {
    for (const text of ['\u0000\u0001'.repeat(300), '🧪'.repeat(300), '⟦⟧'.repeat(300)]) {
      for (const model of ['gpt-5', 'claude-opus-5-5']) {
        const prompt = Prompt.fromPartial({
          messages: [{ role: Role.ROLE_USER, parts: [{ part: { $case: 'text', value: { text } } }] }],
          tools: [{ name: 'f' }],
        });
        expect(await estimateInput(readable(prompt), model)).toBeLessThanOrEqual(inputTokensMax(prompt));
      }
    }
  });
});
