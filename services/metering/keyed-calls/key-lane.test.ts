import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { parseSettings } from '#kit/config/settings.js';
import type { Database } from '#kit/db/open.js';
import { testEngines } from '#kit/testing/database.js';
import { meteringSettings } from '../config.js';
import { createKeyLane, type KeyLane, type KeyRequest } from './key-lane.js';
import { LeaseGrace } from '../leases/lease-grace.js';
import { Harness } from '../testing/harness.js';

const leaseMs = 30_000;

describe.each(testEngines)('reserved keys on %s', (engine) => {
  let harness: Harness;
  let lane: KeyLane;
  let fault: Error | undefined;

  beforeEach(async () => {
    harness = await Harness.create(engine);
    await harness.replica();
    fault = undefined;
    const db: Database = {
      ...harness.db,
      plainTransaction: (work, options) => (fault === undefined ? harness.db.plainTransaction(work, options) : Promise.reject(fault)),
    };
    const config = { ...parseSettings(meteringSettings, {}), leaseMs };
    lane = createKeyLane({ config, db, clock: harness.clock, grace: new LeaseGrace(harness.clock, config) });
    // Past the grace period after a start, in which no call is considered lost.
    harness.clock.advance(leaseMs);
  });

  afterEach(() => harness.close());

  const key = { accountId: randomBytes(16), keyHash: randomBytes(32), fingerprint: randomBytes(32) };
  const request = (): KeyRequest => ({ ...key, callId: randomBytes(16) });
  const failWith = async (error: Error): Promise<void> => {
    fault = error;
    await expect(lane.add(request())).rejects.toBe(error);
    fault = undefined;
  };

  it('stay with their calls for one lease after a database outage', async () => {
    await lane.add(request());
    harness.clock.advance(2 * leaseMs);
    await failWith(Object.assign(new Error('Connection refused.'), { code: 'ECONNREFUSED' }));
    harness.clock.advance(leaseMs - 1);
    expect((await lane.add(request())).kind).toBe('taken');
    harness.clock.advance(1);
    expect((await lane.add(request())).kind).toBe('begun');
  });

  it('do not stay because another request failed for its own reasons', async () => {
    await lane.add(request());
    harness.clock.advance(leaseMs);
    await failWith(new Error('Not a row.'));
    expect((await lane.add(request())).kind).toBe('begun');
  });
});
