import { describe, expect, it } from '@jest/globals';
import { AppError } from '#client/errors/app-error.js';
import { unlessUnavailable } from './unavailable.js';

describe('an optional answer', () => {
  it.each(['service_unavailable', 'deadline_exceeded', 'overloaded', 'internal'] as const)(
    'is undefined when the service fails with %s',
    async (reason) => {
      expect(await unlessUnavailable(Promise.reject(new AppError(reason, 'Unavailable.')))).toBeUndefined();
    },
  );

  it('is the answer of the service, and other errors are raised', async () => {
    expect(await unlessUnavailable(Promise.resolve(0))).toBe(0);
    await expect(unlessUnavailable(Promise.reject(new AppError('not_found', 'None.')))).rejects.toThrow('None.');
    await expect(unlessUnavailable(Promise.reject(new TypeError('a fault of ours')))).rejects.toThrow('a fault of ours');
  });
});
