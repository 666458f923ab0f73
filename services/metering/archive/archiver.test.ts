// Old records are moved into files and out of the database; unsettled ones stay.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { dayMs } from '#kit/clock.js';
import type { Database } from '#kit/db/open.js';
import { idFromBytes } from '#kit/id.js';
import { createLogger } from '#kit/log.js';
import { testEngines } from '#kit/testing/database.js';
import { TurnCounter } from '#kit/testing/turns.js';
import type { MeteringService } from '#proto/metering/v1/metering.js';
import { Archiver } from './archiver.js';
import { archivedUntilMs } from '../store/archive.js';
import { enqueueRefund, hasUnsentRefunds } from '../store/settlement/refund-outbox.js';
import { call, report } from '../testing/calls.js';
import { find, Harness, record, until } from '../testing/harness.js';

const answered = {
  upstreamId: 'sandbox',
  upstreamModel: 'echo',
  offsetMs: 4,
  answered: true,
  reason: '',
  httpStatus: 0,
  upstreamRequestId: '',
};

describe.each(testEngines)('archiving on %s', (engine) => {
  let harness: Harness;
  let service: MeteringService;
  let folder: string;
  let archiver: Archiver;

  beforeEach(async () => {
    harness = await Harness.create(engine);
    ({ service } = await harness.replica());
    folder = mkdtempSync(join(tmpdir(), 'tollgate-archive-'));
    archiver = archiverOn(harness.db);
  }, 60_000);

  afterEach(async () => {
    rmSync(folder, { recursive: true });
    await harness.close();
  });

  const archiverOn = (db: Database): Archiver => {
    const log = createLogger({ name: 'metering', level: 'warn' }, { write: () => undefined });
    return new Archiver({ config: { archiveDir: folder, archiveIntervalMs: 1000, retentionDays: 35 }, db, clock: harness.clock, log });
  };
  const settled = async (startedAtMs = harness.clock.nowMs()): Promise<string> => {
    const { id } = (await record(service, report({ call: call({ startedAtMs: BigInt(startedAtMs), attempts: [answered] }) }))).call!;
    await until(async () => (await find(service, id))?.settlement !== undefined);
    return id;
  };
  const lines = () =>
    readdirSync(folder).flatMap((name) =>
      gunzipSync(readFileSync(join(folder, name)))
        .toString()
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, unknown>),
    );

  it('moves settled records that are old enough, each with everything from which its charge is computed', async () => {
    const old = [await settled(), await settled()];
    harness.clock.advance(36 * dayMs);
    const young = await settled();
    expect(await archiver.archive(folder)).toBe(2);
    expect(
      lines()
        .map(({ id }) => id)
        .sort(),
    ).toEqual(old.sort());
    expect(lines()[0]).toMatchObject({
      attempts: [
        {
          upstream: 'sandbox',
          upstream_model: 'echo',
          offset_ms: 4,
          duration_ms: null,
          answered: true,
          reason: '',
          http_status: 0,
          upstream_request_id: '',
        },
      ],
      charge_nano_usd: '200000',
      captured_nano_usd: '200000',
      input_tokens: 100,
      output_tokens: 50,
      outcome: 'completed',
      token_source: 'reported',
      price: { input_nano_usd_per_mtok: '1000000000', output_nano_usd_per_mtok: '2000000000' },
    });
    for (const id of old) expect(await find(service, id)).toBeUndefined();
    expect(await find(service, young)).toBeDefined();
    expect(await archiver.archive(folder)).toBe(0);
  });

  it('moves many records in pages, each once, and lets other work of the process run after each page', async () => {
    const startedAtMs = harness.clock.nowMs();
    // As many as three pages and a part; most of them started at the same instant.
    const starts = Array.from({ length: 350 }, (_, index) => startedAtMs + (index % 7 === 0 ? index : 0));
    const reports = starts.map((ms) => report({ call: call({ startedAtMs: BigInt(ms) }) }));
    const made = await Promise.all(reports.map((each) => record(service, each)));
    await until(async () => (await harness.db.knex('usage_record').whereNull('settled_at_ms')).length === 0);
    harness.clock.advance(36 * dayMs);
    const young = await settled();
    const counter = new TurnCounter();
    const turns: number[] = [];
    const db: Database = {
      ...harness.db,
      plainTransaction: (...args) => {
        turns.push(counter.turns);
        return harness.db.plainTransaction(...args);
      },
    };
    expect(await archiverOn(db).archive(folder)).toBe(350);
    counter.stop();
    expect(turns.length).toBeGreaterThanOrEqual(4);
    expect(new Set(turns).size).toBe(turns.length);
    expect(
      lines()
        .map(({ id }) => id)
        .sort(),
    ).toEqual(made.map((each) => each.call!.id).sort());
    expect((await harness.db.knex('usage_record').select('id')).map(({ id }) => idFromBytes('req', id))).toEqual([young]);
    expect(await archiver.archive(folder)).toBe(0);
  }, 60_000);

  it('keeps a record until it is settled, no matter how old', async () => {
    const id = await settled();
    await harness.db.knex('usage_record').update({ settled_at_ms: null });
    harness.clock.advance(36 * dayMs);
    expect(await archiver.archive(folder)).toBe(0);
    expect(await find(service, id)).toBeDefined();
  });

  it('keeps a record until its refund is booked, and then removes both', async () => {
    const id = await settled();
    harness.ledger.isUnavailable = true;
    await enqueueRefund(
      harness.db,
      { callId: id, accountId: (await find(service, id))!.call!.accountId, keyHash: Buffer.alloc(0) },
      harness.clock.nowMs(),
    );
    harness.clock.advance(36 * dayMs);
    expect(await archiver.archive(folder)).toBe(0);
    harness.ledger.isUnavailable = false;
    harness.clock.advance(60_000);
    await until(async () => !(await hasUnsentRefunds(harness.db)));
    expect(await archiver.archive(folder)).toBe(1);
    expect(await harness.db.knex('refund_outbox')).toEqual([]);
  });

  it('notes until when calls may be archived, which never moves back', async () => {
    const untilMs = () => harness.clock.nowMs() - 35 * dayMs;
    for (let runs = 0; runs < 2; runs += 1) {
      await settled();
      harness.clock.advance(36 * dayMs);
      expect(await archiver.archive(folder)).toBe(1);
      expect(await archivedUntilMs(harness.db)).toBe(untilMs());
    }
    const latestMs = untilMs();
    harness.clock.step(-20 * dayMs);
    await settled(untilMs() - 1);
    expect(await archiver.archive(folder)).toBe(1);
    expect(await archivedUntilMs(harness.db)).toBe(latestMs);
  });

  it('removes nothing that could not be written', async () => {
    const id = await settled();
    harness.clock.advance(36 * dayMs);
    const blocked = join(folder, 'file');
    writeFileSync(blocked, '');
    await expect(archiver.archive(blocked)).rejects.toThrow();
    expect(await find(service, id)).toBeDefined();
  });
});
