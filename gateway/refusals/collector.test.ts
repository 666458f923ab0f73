import { describe, expect, it } from '@jest/globals';
import { Refusal } from '#proto/metering/v1/metering.js';
import { RefusalCollector } from './collector.js';

const nowMs = 2_000_000 * 900_000;

describe('refused calls that wait to be sent', () => {
  const collector = () => {
    const refusals = new RefusalCollector();
    const add = (keyId: string, modelId = 'm'): boolean =>
      refusals.add({ accountId: 'acct_1', projectId: 'proj_1', keyId, modelId, reason: 'balance_empty' }, nowMs, () =>
        Refusal.fromPartial({}),
      );
    return { refusals, add };
  };

  it('keep a number of examples, of which there is room for others once they are sent', () => {
    const { refusals, add } = collector();
    const addAll = (keys: string): void => {
      for (let call = 0; call < 4000; call += 1) add(`${keys}_${call % 20}`);
    };
    const takeAll = () => {
      const batches = [];
      while (!refusals.isEmpty()) batches.push(refusals.take());
      return batches;
    };
    for (const keys of ['a', 'b']) {
      addAll(keys);
      const batches = takeAll();
      const examples = batches.map((batch) => batch.reduce((sum, series) => sum + series.examples.length, 0));
      expect(examples.reduce((sum, each) => sum + each)).toBe(2000);
      expect(Math.max(...examples)).toBeLessThanOrEqual(500);
      expect(batches.flat().reduce((sum, { calls }) => sum + calls, 0n)).toBe(4000n);
    }
  });

  it('are sent a thousand series at a time', () => {
    const { refusals, add } = collector();
    for (let key = 0; key < 1001; key += 1) for (let call = 0; call < 2; call += 1) add(`key_${key}`);
    const sizes = [];
    while (!refusals.isEmpty()) sizes.push(refusals.take().length);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(1000);
    expect(sizes.reduce((sum, size) => sum + size)).toBe(1001);
    const many = collector();
    // Examples of so many series are not kept, so that only the number of series ends a batch.
    for (let key = 0; key < 4000; key += 1) many.add(`key_${key}`);
    for (let taken = 0; taken < 2000;) taken += many.refusals.take().length;
    expect(many.refusals.take()).toHaveLength(1000);
  });

  it('are counted without their models, and then not at all, when there are very many series', () => {
    const { refusals, add } = collector();
    for (let model = 0; model < 10_000; model += 1) add('key_1', `model_${model}`);
    const counted = new Set<boolean>();
    for (let model = 0; model < 10; model += 1) counted.add(add('key_1', `other_${model}`));
    for (let key = 2; key <= 40_000; key += 1) counted.add(add(`key_${key}`));
    expect([...counted]).toEqual([true]);
    expect([add('key_40001'), add('key_1', 'other_10'), refusals.count()]).toEqual([false, true, 50_010n]);
  });
});
