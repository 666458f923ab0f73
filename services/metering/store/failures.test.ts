import { describe, expect, it } from '@jest/globals';
import { answerOf } from './failures.js';

const failing = (properties: object) => answerOf(Promise.reject(Object.assign(new Error('driver'), properties)));

describe('a failure of the database', () => {
  it.each([
    ['service_unavailable', 'a lost connection', { code: 'ECONNREFUSED' }],
    ['overloaded', 'an exhausted pool', { name: 'KnexTimeoutError' }],
    ['overloaded', 'a deadlock that outlasted its retries', { errno: 1213 }],
  ])('is %s for %s, so that a gateway tries again', async (reason, _, properties) => {
    await expect(failing(properties)).rejects.toMatchObject({ reason, retryAfterMs: 1000 });
  });

  it('of another kind passes as it is', async () => {
    await expect(failing({ code: 'ER_BAD_FIELD_ERROR' })).rejects.toMatchObject({ message: 'driver', code: 'ER_BAD_FIELD_ERROR' });
  });
});
