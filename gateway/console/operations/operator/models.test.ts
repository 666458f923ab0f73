import { describe, expect, it } from '@jest/globals';
import type { OperationDeps } from '../../deps.js';
import { models } from './models.js';

const nowMs = Date.parse('2027-01-31T12:00:00Z');
const pause = models.operations.find(({ method, path }) => method === 'PUT' && path === '/operator/model-pauses/{model}')!;
const paused = (until: string): unknown =>
  pause.handle({ body: { until }, params: { model: 'acme/one' } } as never, { clock: { nowMs: () => nowMs } } as OperationDeps);

describe('the pause of a model', () => {
  it.each([
    ['2027-13-01T00:00:00Z', 'timestamp'],
    ['2027-02-01T25:00Z', 'timestamp'],
    ['2027-01-31T12:00:00Z', 'future'],
  ])('must end in the future: %s', async (until, rule) => {
    await expect(paused(until)).rejects.toMatchObject({ reason: 'invalid_request', details: { field: 'until', rule } });
  });
});
