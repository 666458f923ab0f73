import { describe, expect, it } from '@jest/globals';
import type { Context } from 'koa';
import { Key } from '#proto/auth/v1/auth.js';
import { failureOf } from '#kit/testing/waiting.js';
import { chatCompletions } from '../../formats/chat-completions/index.js';
import { localOccupancy } from '../occupancy.js';
import { beginState } from '../request-state.js';
import { admit, type AdmissionOptions } from './admit.js';

function admission(options: Partial<AdmissionOptions>) {
  const middleware = admit({ callsMax: 9, callsPerAccountMax: 9, occupancy: localOccupancy(), ...options });
  return (accountId: string, work: () => Promise<void>): Promise<unknown> => {
    const context = {} as Context;
    beginState(context, { requestId: 'req_1', dialect: chatCompletions, key: Key.fromPartial({ accountId }) });
    return Promise.resolve(middleware(context, work));
  };
}

describe('admission', () => {
  it('counts a call before its body is read, so that many simultaneous calls stay within the bound', async () => {
    const call = admission({ callsMax: 2 });
    const bodies = Promise.withResolvers<void>();
    const calls = ['one', 'two', 'three'].map((accountId) => call(accountId, () => bodies.promise));
    expect((await failureOf(calls[2]!)).reason).toBe('overloaded');
    bodies.resolve();
    await Promise.all(calls.slice(0, 2));
    await expect(call('three', async () => undefined)).resolves.toBeUndefined();
  });

  it('leaves room for others when one account has reached its limit of calls', async () => {
    const call = admission({ callsPerAccountMax: 1 });
    const body = Promise.withResolvers<void>();
    const first = call('one', () => body.promise);
    const refusal = await failureOf(call('one', () => body.promise));
    expect([refusal.reason, refusal.message]).toEqual(['overloaded', expect.stringContaining('Your account has 1 calls in flight')]);
    await expect(call('other', async () => undefined)).resolves.toBeUndefined();
    body.resolve();
    await first;
    await expect(call('one', async () => undefined)).resolves.toBeUndefined();
  });

  it('frees the slot of a call that fails', async () => {
    const call = admission({ callsMax: 1, callsPerAccountMax: 1 });
    const fail = async (): Promise<never> => Promise.reject(new Error('no'));
    await expect(call('one', fail)).rejects.toThrow('no');
    await expect(call('one', fail)).rejects.toThrow('no');
  });
});
