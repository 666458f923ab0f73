import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ManualClock } from '../clock.js';
import { createTestDatabase, type TestDatabase, testEngines } from '../testing/database.js';
import { migrate } from './migrations/migrate.js';
import { openDatabase } from './open.js';
import { WriteProbe } from './write-probe.js';

const full = Object.assign(new Error('driver'), { code: 'SQLITE_FULL' });
const exhausted = Object.assign(new Error('no connection'), { name: 'KnexTimeoutError' });
const lost = Object.assign(new Error('driver'), { code: 'PROTOCOL_CONNECTION_LOST' });
const busy = Object.assign(new Error('driver'), { code: 'SQLITE_BUSY' });

describe('the probe of a database', () => {
  const clock = new ManualClock();
  let writes: number;
  let play: () => Promise<void>;
  let probe: WriteProbe;

  beforeEach(() => {
    writes = 0;
    play = async () => undefined;
    probe = new WriteProbe(
      () => {
        writes += 1;
        return play();
      },
      clock,
      1,
    );
  });

  it('writes once every few seconds while all is well', async () => {
    for (let second = 0; second < 10; second += 1) {
      expect(await probe.isWritable()).toBe(true);
      clock.advance(1000);
    }
    expect(writes).toBe(2);
  });

  it.each([
    ['full disk', full],
    ['lost connection', lost],
  ])('reports a %s with the first transaction that fails, and recovers within a second or two', async (_, error) => {
    expect(await probe.isWritable()).toBe(true);
    play = async () => Promise.reject(error);
    probe.note(error);
    expect(await probe.isWritable()).toBe(false);
    clock.advance(1000);
    expect(await probe.isWritable()).toBe(false);
    play = async () => undefined;
    clock.advance(1000);
    expect(await probe.isWritable()).toBe(true);
  });

  it('treats a busy database as writable, and one that hangs as not writable', async () => {
    expect(await probe.isWritable()).toBe(true);
    for (const error of [busy, exhausted]) {
      clock.advance(5000);
      play = async () => Promise.reject(error);
      probe.note(error);
      expect(await probe.isWritable()).toBe(true);
    }
    let answer = (): void => undefined;
    play = () => new Promise((resolve) => (answer = resolve));
    expect(await probe.isWritable()).toBe(true);
    clock.advance(3000);
    expect(await probe.isWritable()).toBe(false);
    answer();
    expect(await probe.isWritable()).toBe(true);
  });

  it('does not alternate between writable and not writable while all connections are in use', async () => {
    expect(await probe.isWritable()).toBe(true);
    clock.advance(5000);
    let giveUp = (): void => undefined;
    play = () => new Promise((_, reject) => (giveUp = () => reject(exhausted)));
    const seen: boolean[] = [];
    for (let second = 0; second < 15; second += 1) {
      seen.push(await probe.isWritable());
      clock.advance(1000);
      // As knex does when no connection becomes free for 5 s.
      if (second % 5 === 4) giveUp();
    }
    expect(seen).toEqual(seen.map((_, second) => second < 3));
    expect(await probe.isWritable()).toBe(false);
    play = async () => undefined;
    clock.advance(1000);
    expect(await probe.isWritable()).toBe(true);
  });
});

describe.each(testEngines)('a database on %s', (engine) => {
  let test: TestDatabase;

  beforeEach(async () => {
    test = await createTestDatabase(engine);
  });

  afterEach(() => test.drop());

  it('is not writable before its schema exists, and is afterwards', async () => {
    expect(await test.db.isWritable()).toBe(false);
    await migrate(test.db, []);
    const replica = openDatabase(test.url);
    expect(await replica.isWritable()).toBe(true);
    await replica.close();
  });

  it.each(['transaction', 'plainTransaction'] as const)('is not writable after a %s that the disk failed', async (method) => {
    await migrate(test.db, []);
    expect(await test.db.isWritable()).toBe(true);
    await expect(test.db[method](() => Promise.reject(full))).rejects.toBe(full);
    expect(await test.db.isWritable()).toBe(false);
  });
});
