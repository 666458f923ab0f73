import { expect, it } from '@jest/globals';
import type { Context } from 'koa';
import { Key } from '#proto/auth/v1/auth.js';
import { ManualClock } from '#kit/clock.js';
import { failureOf } from '#kit/testing/waiting.js';
import { messages } from '../../formats/messages/index.js';
import { createLimiter } from '../../limits/limiter.js';
import { WindowTable, windowMemory } from '#kit/limits/window-table.js';
import { beginState } from '../request-state.js';
import { countRate } from './count-rate.js';

it('admits as many counts of a key in a minute as it may have, over all threads, and more as time passes', async () => {
  const clock = new ManualClock();
  const memory = windowMemory(2);
  const defaults = { key: undefined, project: undefined, account: undefined, accountModel: undefined };
  const threads = [1, 2].map((thread) => countRate(60, createLimiter({ store: new WindowTable(memory, thread), defaults, clock })));
  const count = (id: string, thread = 0): Promise<unknown> => {
    const context = {} as Context;
    beginState(context, { requestId: 'req_1', dialect: messages, key: Key.fromPartial({ id }) });
    return Promise.resolve(threads[thread]!(context, async () => undefined));
  };
  for (let number = 0; number < 60; number += 1) await count('key_a', number % 2);
  for (const thread of [0, 1]) {
    expect(await failureOf(count('key_a', thread))).toMatchObject({
      reason: 'rate_limited',
      message: 'This key may count tokens 60 times per minute. Try again in 60 s.',
      details: { limit: 'count_tokens_per_minute' },
    });
  }
  await count('key_b');
  clock.advance(61_000);
  for (let number = 0; number < 60; number += 1) await count('key_a');
  await failureOf(count('key_a'));
});
