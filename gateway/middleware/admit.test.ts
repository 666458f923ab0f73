import { describe, expect, it } from '@jest/globals';
import type { Context } from 'koa';
import { failureOf, promised } from '#kit/testing/waiting.js';
import { admit } from './admit.js';

const context = {} as Context;

describe('admission', () => {
  it('counts a call from before its body is read, so that many that arrive together keep within the bound', async () => {
    const admission = admit({ callsMax: 2, isDraining: () => false });
    const bodies = promised<void>();
    const calls = Array.from({ length: 3 }, () => Promise.resolve(admission(context, () => bodies.promise)));
    expect((await failureOf(calls[2]!)).reason).toBe('overloaded');
    bodies.resolve();
    await Promise.all(calls.slice(0, 2));
    await expect(admission(context, async () => 'let in')).resolves.toBeUndefined();
  });

  it('gives the place of a call back that fails', async () => {
    const admission = admit({ callsMax: 1, isDraining: () => false });
    const fail = async (): Promise<never> => Promise.reject(new Error('no'));
    await expect(admission(context, fail)).rejects.toThrow('no');
    await expect(admission(context, fail)).rejects.toThrow('no');
  });

  it('refuses calls with an invitation to come again while the gateway stops', async () => {
    const refusal = await failureOf(Promise.resolve(admit({ callsMax: 1, isDraining: () => true })(context, async () => undefined)));
    expect([refusal.reason, refusal.retryAfterMs]).toEqual(['service_unavailable', 1000]);
  });
});
