// The official libraries retry after a 429 when `retry-after` says so, and get their answer.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createKey } from '../support/clients/calls.js';
import { startSystem, type System } from '../support/systems/system.js';
import { anthropicLibraries, openaiLibraries } from './libraries.js';

let system: System;

beforeAll(async () => {
  system = await startSystem('single');
});

afterAll(() => system?.stop());

interface Library {
  readonly name: string;
  /** Makes a call, by default with the library's own number of retries; returns the text of the answer. */
  readonly call: (apiKey: string, content: string, retries?: { maxRetries: number }) => Promise<string | null>;
}

const libraries: readonly Library[] = [
  ...openaiLibraries.map(({ name, OpenAI }) => ({
    name,
    call: async (apiKey: string, content: string, retries?: { maxRetries: number }) => {
      const client = new OpenAI({ apiKey, baseURL: `${system.baseUrl}/v1`, ...retries });
      const answer = await client.chat.completions.create({ model: 'sandbox/echo', messages: [{ role: 'user', content }] });
      return answer.choices[0]!.message.content;
    },
  })),
  ...anthropicLibraries.map(({ name, Anthropic }) => ({
    name,
    call: async (apiKey: string, content: string, retries?: { maxRetries: number }) => {
      const client = new Anthropic({ apiKey, baseURL: system.baseUrl, ...retries });
      const answer = await client.messages.create({ model: 'sandbox/echo', max_tokens: 50, messages: [{ role: 'user', content }] });
      return answer.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
    },
  })),
];

describe('a library', () => {
  it.each(libraries)('waits for a call in flight to end: $name', async ({ name, call }) => {
    const { secret } = await createKey(system, `${name} concurrent`, '--concurrency', '1');
    // On a busy machine the call in flight may take longer than the two retries of the libraries.
    const patiently = () => call(secret, 'delay=300ms tokens=1', { maxRetries: 8 });
    const answers = await Promise.all([patiently(), patiently()]);
    for (const answer of answers) expect(answer).toBeTruthy();
  });

  // The long form waits for a minute.
  if (process.env['TOLLGATE_TEST_LIMIT_MINUTES'] === undefined) return;

  it('waits until the requests of the last minute no longer count', async () => {
    await Promise.all(
      libraries.map(async ({ name, call }) => {
        const { secret } = await createKey(system, `${name} per minute`, '--rpm', '1');
        await call(secret, 'tokens=1');
        const askedAtMs = performance.now();
        expect(await call(secret, 'tokens=1')).toBeTruthy();
        expect([name, performance.now() - askedAtMs > 50_000]).toEqual([name, true]);
      }),
    );
  });
});
