import { describe, expect, it } from '@jest/globals';
import { AppError } from '#client/errors/app-error.js';
import { unlessUnavailable } from './unavailable.js';

describe('what can be done without', () => {
  it.each(['service_unavailable', 'deadline_exceeded', 'overloaded', 'internal'] as const)(
    'is undefined when the answer is %s',
    async (reason) => {
      expect(await unlessUnavailable(Promise.reject(new AppError(reason, 'Away.')))).toBeUndefined();
    },
  );

  it('is what was answered, and every other refusal stays one', async () => {
    expect(await unlessUnavailable(Promise.resolve(0))).toBe(0);
    await expect(unlessUnavailable(Promise.reject(new AppError('not_found', 'None.')))).rejects.toThrow('None.');
    await expect(unlessUnavailable(Promise.reject(new TypeError('a fault of ours')))).rejects.toThrow('a fault of ours');
  });
});
