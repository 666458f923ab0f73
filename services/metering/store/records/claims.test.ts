import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ManualClock } from '#kit/clock.js';
import { parseSettings } from '#kit/config/settings.js';
import { migrate } from '#kit/db/migrations/migrate.js';
import { createTestDatabase, type TestDatabase, testEngines } from '#kit/testing/database.js';
import { Outcome, UsageSource } from '#proto/metering/v1/metering.js';
import { meteringSettings } from '../../config.js';
import { AnswerQuota } from '../../keyed-calls/answer-quota.js';
import { migrations } from '../../migrations/index.js';
import { call, tokens } from '../../testing/calls.js';
import { priceRecord } from '../../records/usage-record.js';
import { validateCall } from '../../requests/validate-call.js';
import { insertLostRecord, insertRecords } from './close-calls.js';
import { type OpenCall, putOpenCalls } from './open-calls.js';
import { claimDue } from '../settlement/outbox.js';
import { findRecord } from './records.js';

const leaseUntilMs = 0;
const config = parseSettings(meteringSettings, {});
const instants = { claimedUntilMs: 0, nowMs: 0, promisedSinceMs: 0 };

function openCall(lastSeenAtMs: number): OpenCall {
  return { call: validateCall(call()), tokens: tokens({ inputTokens: 100 }), lastSeenAtMs };
}

function lostRecord({ call: lost, tokens: used }: OpenCall) {
  const usage = {
    source: UsageSource.USAGE_SOURCE_ESTIMATED,
    outcome: Outcome.OUTCOME_GATEWAY_LOST as const,
    outcomeDetail: '',
    firstOutputMs: undefined,
    durationMs: 1,
  };
  return priceRecord({ call: lost, tokens: used, ...usage, free: false, quarantined: false, storedAnswer: Buffer.alloc(0) }, 1);
}

describe.each(testEngines)('claims of replicas on %s', (engine) => {
  let test: TestDatabase;

  beforeEach(async () => {
    test = await createTestDatabase(engine);
    await migrate(test.db, migrations);
  });

  afterEach(() => test.drop());

  it('a call that is checkpointed again after a sweeper read it is not considered lost', async () => {
    const read = openCall(1000);
    await putOpenCalls(test.db, [read], leaseUntilMs);
    await putOpenCalls(test.db, [{ ...read, lastSeenAtMs: 2000 }], leaseUntilMs);
    expect(await insertLostRecord(test.db, read, lostRecord(read), instants, 0)).toBe(false);
    expect(await findRecord(test.db, read.call.id)).toBeUndefined();
  });

  it('a lost call is recorded by one of several replicas', async () => {
    const read = openCall(1000);
    await putOpenCalls(test.db, [read], leaseUntilMs);
    const tries = await Promise.all([1, 2, 3].map(() => insertLostRecord(test.db, read, lostRecord(read), instants, 0)));
    expect(tries.toSorted()).toEqual([false, false, true]);
    expect((await findRecord(test.db, read.call.id))?.chargeNanoUsd).toBe(100_000n);
  });

  it('a due settlement is claimed by one of several replicas, and due again after the claim', async () => {
    const ended = Array.from({ length: 20 }, () => lostRecord(openCall(1000)));
    await insertRecords(test.db, ended, { ...instants, claimedUntilMs: 5000 }, new AnswerQuota({ config, clock: new ManualClock(0) }));
    const ids = ended.map(({ record }) => record.call.id).toSorted();
    expect(await claimDue(test.db, 4999, 6000, 100)).toEqual([]);
    const claimed = await Promise.all([1, 2, 3].map(() => claimDue(test.db, 5000, 6000, 100)));
    expect(
      claimed
        .flat()
        .map((item) => item.callId)
        .toSorted(),
    ).toEqual(ids);
    expect(await claimDue(test.db, 5999, 7000, 100)).toEqual([]);
    expect((await claimDue(test.db, 6000, 7000, 100)).map((item) => item.callId).toSorted()).toEqual(ids);
  });
});
