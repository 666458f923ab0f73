import { expect, it } from '@jest/globals';
import type { Context } from 'koa';
import { Key } from '#proto/auth/v1/auth.js';
import { failureOf } from '#kit/testing/waiting.js';
import { messages } from '../../formats/messages/index.js';
import { beginState } from '../request-state.js';
import { countRate } from './count-rate.js';

it('admits as many counts of a key in a minute as it may have, and more as time passes', async () => {
  let nowMs = 1000;
  const middleware = countRate(60, () => nowMs);
  const count = (id: string): Promise<unknown> => {
    const context = {} as Context;
    beginState(context, { requestId: 'req_1', dialect: messages, key: Key.fromPartial({ id }) });
    return Promise.resolve(middleware(context, async () => undefined));
  };
  for (let number = 0; number < 60; number += 1) await count('key_a');
  expect((await failureOf(count('key_a'))).retryAfterMs).toBe(1000);
  await count('key_b');
  nowMs += 1000;
  await count('key_a');
  await failureOf(count('key_a'));
  nowMs += 60_000;
  for (let number = 0; number < 60; number += 1) await count('key_a');
  await failureOf(count('key_a'));
});
