import { describe, expect, it } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { createTestDatabase, testEngines } from '../../testing/database.js';
import { holdingLease } from './migration-lease.js';

const times = { staleMs: 600, renewMs: 100, waitMs: 20_000 };

for (const engine of testEngines.filter((each) => each === 'mysql'))
  describe(`the lease of a migration on ${engine}`, () => {
    it('is held by one process at a time, however long the work takes', async () => {
      const { db, drop } = await createTestDatabase(engine);
      let working = 0;
      let most = 0;
      const work = async (): Promise<void> => {
        most = Math.max(most, (working += 1));
        await delay(3500);
        working -= 1;
      };
      // On a busy machine a renewal may be late by a second or two.
      await Promise.all([1, 2].map(() => holdingLease(db.knex, work, { ...times, staleMs: 2500 })));
      expect(most).toBe(1);
      await drop();
    }, 60_000);

    it('is taken over from a process that died, after a limited wait', async () => {
      const { db, drop } = await createTestDatabase(engine);
      await holdingLease(db.knex, async () => undefined, times);
      await db.knex('schema_lease').insert({ name: 'migrate', mark: 'of a process that died' });
      await expect(holdingLease(db.knex, async () => 'done', { ...times, staleMs: 60_000, waitMs: 300 })).rejects.toMatchObject({
        reason: 'service_unavailable',
      });
      expect(await holdingLease(db.knex, async () => 'done', times)).toBe('done');
      await drop();
    }, 20_000);
  });
