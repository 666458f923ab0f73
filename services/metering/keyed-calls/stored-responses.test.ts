import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { dayMs } from '#kit/clock.js';
import { newId } from '#kit/id.js';
import { testEngines } from '#kit/testing/database.js';
import { type MeteringService, ResponseStorage as Storage, type RecordUsageRequest, type StoredPart } from '#proto/metering/v1/metering.js';
import { call, report, tokens } from '../testing/calls.js';
import { checkpoint, find, Harness, until } from '../testing/harness.js';

const leaseMs = 30_000;
const rowBytes = 512;
const partOf = (content: string | Buffer, nameHash: Buffer = randomBytes(32)): StoredPart => ({ nameHash, content: Buffer.from(content) });

describe.each(testEngines)('stored responses on %s', (engine) => {
  let harness: Harness;
  let service: MeteringService;
  let accountId: string;

  beforeEach(async () => {
    harness = await Harness.create(engine);
    ({ service } = await harness.replica({ leaseMs }));
    accountId = newId('acct');
  });

  afterEach(() => harness.close());

  const ended = (parts: StoredPart[], changes: Partial<RecordUsageRequest> = {}): RecordUsageRequest =>
    report({ call: call({ accountId }), storedResponse: { parts, keptMs: dayMs }, ...changes });
  const store = async (...parts: StoredPart[]): Promise<Storage> => (await service.recordUsage(ended(parts))).responseStorage;
  const read = async (parts: readonly StoredPart[], { of = accountId, keptMs = 0 } = {}): Promise<string[]> => {
    const found = await service.getStoredParts({ accountId: of, nameHashes: parts.map(({ nameHash }) => nameHash), keptMs });
    const contents = new Map(found.parts.map(({ nameHash, content }) => [nameHash.toString('hex'), content.toString()]));
    return parts.flatMap(({ nameHash }) => contents.get(nameHash.toString('hex')) ?? []);
  };
  const totals = async (): Promise<number[]> =>
    (await harness.db.knex('kept_total').select('answers', 'bytes')).flatMap((row) => [Number(row.answers), Number(row.bytes)]);

  it('are found by their names when their records are stored, in their own account only', async () => {
    const parts = [partOf('the response'), partOf('an item')];
    expect(await store(...parts)).toBe(Storage.RESPONSE_STORAGE_STORED);
    expect(await read([...parts, partOf('')])).toEqual(['the response', 'an item']);
    expect(await read(parts, { of: newId('acct') })).toEqual([]);
    expect(await totals()).toEqual([2, 2 * rowBytes + 'the responsean item'.length]);
  });

  it('are not stored for calls that are free, or do not request it', async () => {
    const part = partOf('a');
    const { responseStorage } = await service.recordUsage(ended([part], { free: true }));
    expect(responseStorage).toBe(Storage.RESPONSE_STORAGE_GONE);
    expect((await service.recordUsage(report())).responseStorage).toBe(Storage.RESPONSE_STORAGE_UNSPECIFIED);
    expect([await read([part]), await totals()]).toEqual([[], []]);
  });

  it('are stored once when the report is repeated, and a repeat returns whether they are still stored', async () => {
    const part = partOf('a');
    const sent = ended([part]);
    await service.recordUsage(sent);
    expect(await service.recordUsage(sent)).toMatchObject({ replayed: true, responseStorage: Storage.RESPONSE_STORAGE_STORED });
    expect(await totals()).toEqual([1, rowBytes + 1]);
    await service.deleteStoredParts({ accountId, nameHashes: [part.nameHash] });
    expect(await service.recordUsage(sent)).toMatchObject({ replayed: true, responseStorage: Storage.RESPONSE_STORAGE_GONE });
  });

  it('replace parts of the same name, even when two replicas store them at once', async () => {
    const second = await harness.replica({ leaseMs });
    const first = partOf('first');
    await store(first);
    const sent = ['second', 'other'].map((content) => ended([partOf(content, first.nameHash), partOf('item')]));
    const answers = await Promise.all(sent.map((each, index) => (index === 0 ? service : second.service).recordUsage(each)));
    expect(answers.map(({ responseStorage }) => responseStorage)).toEqual(sent.map(() => Storage.RESPONSE_STORAGE_STORED));
    const [content] = await read([first]);
    expect(['second', 'other']).toContain(content);
    expect(await totals()).toEqual([3, 3 * rowBytes + content!.length + 8]);
  });

  it('take at most half of the quota of an account and of all accounts; beyond that, calls are recorded without them', async () => {
    const small = await harness.replica({ keptBytesPerAccountMax: 4 * rowBytes, keptBytesMax: 8 * rowBytes });
    const keep = async (of: string): Promise<Storage> => {
      const sent = ended([partOf('x'.repeat(100))], { call: call({ accountId: of }) });
      const { responseStorage } = await small.service.recordUsage(sent);
      expect(await find(small.service, sent.call!.id)).toBeDefined();
      return responseStorage;
    };
    expect(await keep(accountId)).toBe(Storage.RESPONSE_STORAGE_STORED);
    expect(await keep(accountId)).toBe(Storage.RESPONSE_STORAGE_NO_ROOM);
    for (let times = 0; times < 3; times += 1) await keep(newId('acct'));
    harness.clock.advance(5001);
    expect(await keep(newId('acct'))).toBe(Storage.RESPONSE_STORAGE_NO_ROOM);
  });

  it('are not stored if a part is too large for a statement', async () => {
    const parts = [partOf('a'), partOf(Buffer.alloc(7 * 1024 * 1024 + 1))];
    expect(await store(...parts)).toBe(Storage.RESPONSE_STORAGE_TOO_LARGE);
    expect(await read(parts)).toEqual([]);
  });

  it('are deleted when they expire, unless they were in use, and when a caller deletes them', async () => {
    const [used, unused, deleted] = [partOf('used'), partOf('unused'), partOf('deleted')];
    await store(used, unused, deleted);
    await service.deleteStoredParts({ accountId: newId('acct'), nameHashes: [deleted.nameHash] });
    expect(await read([deleted])).toEqual(['deleted']);
    await service.deleteStoredParts({ accountId, nameHashes: [deleted.nameHash, randomBytes(32)] });
    expect(await read([deleted])).toEqual([]);
    harness.clock.advance(dayMs - 1);
    expect(await read([unused])).toEqual(['unused']);
    expect(await read([used], { keptMs: dayMs })).toEqual(['used']);
    harness.clock.advance(1);
    expect(await read([used, unused])).toEqual(['used']);
    await until(async () => (await totals())[0] === 1);
    harness.clock.advance(dayMs);
    await until(async () => (await totals())[0] === 0);
    expect(await totals()).toEqual([0, 0]);
    expect(Number((await harness.db.knex('stored_answer').count({ rows: '*' }))[0]!['rows'])).toBe(0);
  });

  it('are read in portions that fit a message', async () => {
    const parts = Array.from({ length: 4 }, () => partOf(Buffer.alloc(6 * 1024 * 1024)));
    for (const part of parts) await store(part);
    const first = await service.getStoredParts({ accountId, nameHashes: parts.map(({ nameHash }) => nameHash), keptMs: 0 });
    expect([first.parts.length, first.remaining.length]).toEqual([2, 2]);
    const second = await service.getStoredParts({ accountId, nameHashes: first.remaining, keptMs: 0 });
    expect([second.parts.length, second.remaining.length]).toEqual([2, 0]);
  });

  it('are stored with the report of a call that was considered lost', async () => {
    const own = await Harness.create(engine);
    try {
      const { service: patient } = await own.replica({ leaseMs, lostGraceMs: 60_000 });
      own.clock.advance(leaseMs);
      const part = partOf('late');
      const sent = ended([part]);
      await checkpoint(patient, { call: sent.call!, tokens: tokens({ inputTokens: 100, outputTokens: 1 }) });
      own.clock.advance(leaseMs + 1);
      await until(async () => (await find(patient, sent.call!.id)) !== undefined);
      expect((await patient.recordUsage(sent)).responseStorage).toBe(Storage.RESPONSE_STORAGE_STORED);
      expect((await patient.getStoredParts({ accountId, nameHashes: [part.nameHash], keptMs: 0 })).parts).toHaveLength(1);
    } finally {
      await own.close();
    }
  });

  it('have names that are hashes, at most a thousand at once', async () => {
    await expect(service.getStoredParts({ accountId, nameHashes: [Buffer.alloc(31)], keptMs: 0 })).rejects.toMatchObject({
      details: { field: 'name_hashes' },
    });
    const many = Array.from({ length: 1000 }, () => randomBytes(32));
    expect(await service.getStoredParts({ accountId, nameHashes: many, keptMs: 0 })).toEqual({ parts: [], remaining: [] });
    await expect(service.deleteStoredParts({ accountId, nameHashes: [...many, randomBytes(32)] })).rejects.toMatchObject({
      details: { field: 'name_hashes' },
    });
  });
});
