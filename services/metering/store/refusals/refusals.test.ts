import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Actor, callContext } from '#client/call-context.js';
import { dayMs } from '#kit/clock.js';
import { newId } from '#kit/id.js';
import { testEngines } from '#kit/testing/database.js';
import {
  type Call,
  type MeteringService,
  RecordRefusalsRequest_Series as Series,
  Refusal,
  RefusalFilter,
  RefusalGroupBy as By,
} from '#proto/metering/v1/metering.js';
import { call, report, startedAtMs } from '../../testing/calls.js';
import { aWhile, Harness, record, until } from '../../testing/harness.js';

const quarterMs = 900_000n;
const minuteMs = 60_000n;
/** The start of a UTC day. */
const day = startedAtMs - (startedAtMs % 86_400_000n);
const ungrouped = { groupBy: By.REFUSAL_GROUP_BY_UNSPECIFIED, thenBy: By.REFUSAL_GROUP_BY_UNSPECIFIED, offsetMinutes: 0 };

describe.each(testEngines)('refused calls on %s', (engine) => {
  let harness: Harness;
  let service: MeteringService;

  beforeAll(async () => {
    harness = await Harness.create(engine);
    harness.clock.advance(Number(day - startedAtMs) + 86_400_000);
    ({ service } = await harness.replica({ refusalPruneIntervalMs: 5, refusalsPerAccountMax: 1000 }));
  });

  afterAll(() => harness.close());

  const example = (refusedAtMs: bigint, changes: Partial<Refusal> = {}): Refusal =>
    Refusal.fromPartial({
      requestId: newId('req', Number(refusedAtMs)),
      requestedModel: 'echo',
      httpStatus: 402,
      refusedAtMs,
      endpoint: 'messages',
      message: 'The account balance is too low.',
      details: { needed_nano_usd: '1500000000', available_nano_usd: '12' },
      retryAfterMs: 1500,
      traceId: '0af7651916cd43dd8448eb211c80319c',
      clientRequestId: 'client-1',
      ...changes,
    });
  const seriesOf = (changes: Partial<Series>): Series =>
    Series.fromPartial({
      accountId: newId('acct'),
      projectId: newId('proj'),
      keyId: newId('key'),
      modelId: 'sandbox/echo',
      reason: 'balance_empty',
      quarterMs: day,
      calls: 1n,
      ...changes,
    });
  const store = (series: Series[], batchId = randomBytes(16)) => service.recordRefusals({ batchId, series });
  const filterOf = (filter: Partial<RefusalFilter>): RefusalFilter => RefusalFilter.fromPartial(filter);
  const totals = async (filter: Partial<RefusalFilter>, grouping: Partial<typeof ungrouped> = {}): Promise<(string | number)[][]> =>
    (await service.getRefusalTotals({ filter: filterOf(filter), ...ungrouped, ...grouping })).groups.map(({ name, thenName, calls }) =>
      [name, thenName, Number(calls)].filter((part) => part !== ''),
    );
  const listed = async (filter: Partial<RefusalFilter>, pageSize = 1000): Promise<Refusal[]> => {
    const found: Refusal[] = [];
    let pageToken = '';
    do {
      const page = await service.listRefusals({ filter: filterOf(filter), pageSize, pageToken });
      found.push(...page.refusals);
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    return found;
  };

  it('mark their key as refusing, from the first of them until a call succeeds', async () => {
    const refused = seriesOf({ reason: 'budget_reached', calls: 2n });
    const { accountId, keyId } = refused;
    const refusing = async () => (await service.batchGetKeyActivity({ accountId, keyIds: [keyId] })).keys[0]?.refusing;
    const sent = () =>
      harness.alerted.filter((alert) => alert.keyId === keyId).map(({ reason, refusedAtMs }) => [reason, refusedAtMs - day]);
    await store([{ ...refused, examples: [example(day + minuteMs), example(day + 2n * minuteMs)] }]);
    expect(await refusing()).toEqual({ reason: 'budget_reached', sinceMs: day + minuteMs, lastAtMs: day + 2n * minuteMs });
    await until(() => sent().length === 1);
    // The same series continues in the next quarter of an hour, and another begins after a pause; the second alert waits for an hour.
    await store([{ ...refused, quarterMs: day + quarterMs, examples: [example(day + 16n * minuteMs)] }]);
    expect(await refusing()).toMatchObject({ sinceMs: day + minuteMs, lastAtMs: day + 16n * minuteMs });
    await store([{ ...refused, quarterMs: day + 2n * quarterMs, examples: [example(day + 40n * minuteMs)] }]);
    expect(await refusing()).toMatchObject({ sinceMs: day + 40n * minuteMs });
    await store([{ ...refused, quarterMs: day + 6n * quarterMs, examples: [example(day + 100n * minuteMs)] }]);
    await store([{ ...refused, reason: 'invalid_request', quarterMs: day + 6n * quarterMs, examples: [example(day + 101n * minuteMs)] }]);
    await until(() => sent().length === 2);
    expect(sent()).toEqual([
      ['budget_reached', minuteMs],
      ['budget_reached', 100n * minuteMs],
    ]);
    expect(await refusing()).toMatchObject({ reason: 'invalid_request' });
    harness.clock.advance(86_400_000);
    expect(await refusing()).toBeUndefined();
    harness.clock.advance(-86_400_000);
  });

  it('and the last calls of their keys are shown to members of their projects only', async () => {
    const [mine, other] = [seriesOf({ calls: 1n }), seriesOf({ calls: 1n })];
    const { accountId } = mine;
    const series = [mine, { ...other, accountId }];
    await store(series.map((each) => ({ ...each, examples: [example(BigInt(harness.clock.nowMs()))] })));
    const [used, hidden] = [mine, other].map(({ projectId }) => call({ accountId, projectId })) as [Call, Call];
    for (const each of [used, hidden]) await record(service, report({ call: each }));
    const actor: Actor = {
      userId: newId('user'),
      sessionId: '',
      email: 'ada@example.com',
      isOperator: false,
      roles: new Map(),
      projectRoles: new Map([[accountId, new Map([[mine.projectId, 'viewer']])]]),
      clientAddress: '',
    };
    const keyIds = [mine.keyId, other.keyId, used.keyId, hidden.keyId];
    const { keys } = await service.batchGetKeyActivity({ accountId, keyIds }, { ...callContext({ caller: 'gateway' }), actor });
    expect(keys.map(({ keyId }) => keyId).toSorted()).toEqual([mine.keyId, used.keyId].toSorted());
  });

  it('are found by request id, with everything that was known', async () => {
    const shown = example(day + 5n);
    const series = seriesOf({ examples: [shown] });
    await store([series]);
    const { accountId, projectId, keyId } = series;
    const whole = { ...shown, accountId, projectId, keyId, modelId: 'sandbox/echo', reason: 'balance_empty' };
    expect(await service.getRefusal({ requestId: shown.requestId, accountId })).toEqual({ refusal: whole });
    expect(await service.getRefusal({ requestId: shown.requestId, accountId: '' })).toEqual({ refusal: whole });
    await expect(service.getRefusal({ requestId: shown.requestId, accountId: newId('acct') })).rejects.toMatchObject({
      reason: 'not_found',
    });
    await expect(service.getRefusal({ requestId: newId('req'), accountId })).rejects.toMatchObject({ reason: 'not_found' });
  });

  it('are counted once per batch, however often it is sent', async () => {
    const series = seriesOf({ calls: 40n, examples: [example(day)] });
    const batchId = randomBytes(16);
    for (let time = 0; time < 3; time += 1) await store([series], batchId);
    await Promise.all([store([series]), store([{ ...series, examples: [] }])]);
    const { accountId } = series;
    expect(await totals({ accountId })).toEqual([[120]]);
    // The same request id is stored once.
    expect(await listed({ accountId })).toHaveLength(1);
  });

  it('are counted by project, key, model, reason, hour and day, with the hours and days of any zone', async () => {
    const accountId = newId('acct');
    const [one, other] = [newId('key'), newId('key')];
    const projects = new Map([one, other].map((keyId) => [keyId, newId('proj')]));
    const add = (keyId: string, modelId: string, reason: string, quarter: bigint, calls: bigint): Series =>
      seriesOf({ accountId, projectId: projects.get(keyId)!, keyId, modelId, reason, quarterMs: day + quarter * quarterMs, calls });
    await store([
      add(one, 'sandbox/echo', 'balance_empty', 0n, 5n),
      add(one, 'sandbox/echo', 'balance_empty', 1n, 2n),
      add(one, '', 'model_unknown', 1n, 3n),
      add(other, 'sandbox/long', 'overloaded', 5n, 20n),
      // The same series twice in one batch.
      add(other, 'sandbox/long', 'overloaded', 5n, 1n),
    ]);
    const date = new Date(Number(day)).toISOString().slice(0, 10);
    expect(await totals({ accountId })).toEqual([[31]]);
    expect(await totals({ accountId: newId('acct') })).toEqual([[0]]);
    expect(await totals({ accountId }, { groupBy: By.REFUSAL_GROUP_BY_REASON })).toEqual([
      ['overloaded', 21],
      ['balance_empty', 7],
      ['model_unknown', 3],
    ]);
    expect(await totals({ accountId }, { groupBy: By.REFUSAL_GROUP_BY_KEY, thenBy: By.REFUSAL_GROUP_BY_MODEL })).toEqual([
      [other, 'sandbox/long', 21],
      [one, 'sandbox/echo', 7],
      [one, 3],
    ]);
    expect(await totals({ accountId }, { groupBy: By.REFUSAL_GROUP_BY_PROJECT })).toEqual([
      [projects.get(other), 21],
      [projects.get(one), 10],
    ]);
    expect(await totals({ accountId, projectIds: [projects.get(one)!] })).toEqual([[10]]);
    expect(await totals({ accountId }, { groupBy: By.REFUSAL_GROUP_BY_HOUR })).toEqual([
      [`${date}T00:00Z`, 10],
      [`${date}T01:00Z`, 21],
    ]);
    expect(await totals({ accountId }, { groupBy: By.REFUSAL_GROUP_BY_HOUR, offsetMinutes: 345 })).toEqual([
      [`${date}T05:00+05:45`, 5],
      [`${date}T06:00+05:45`, 5],
      [`${date}T07:00+05:45`, 21],
    ]);
    const before = new Date(Number(day) - 1).toISOString().slice(0, 10);
    expect(await totals({ accountId }, { groupBy: By.REFUSAL_GROUP_BY_DAY, offsetMinutes: -15 })).toEqual([
      [before, 5],
      [date, 26],
    ]);
    expect(await totals({ accountId, keyId: one, reason: 'balance_empty', modelId: 'sandbox/echo' })).toEqual([[7]]);
    // A period has the quarters that contain its bounds.
    expect(await totals({ accountId, fromMs: day + quarterMs + 1n, untilMs: day + 5n * quarterMs })).toEqual([[5]]);
    expect(await totals({ accountId, fromMs: day + quarterMs, untilMs: day + 5n * quarterMs + 1n })).toEqual([[26]]);
  });

  it('are listed newest first, in pages, by any filter', async () => {
    const accountId = newId('acct');
    const keyId = newId('key');
    const examples = Array.from({ length: 25 }, (_, index) => example(day + BigInt(index - (index % 3))));
    const late = example(day + quarterMs + 7n);
    await store([
      seriesOf({ accountId, keyId, calls: 25n, examples }),
      seriesOf({ accountId, reason: 'model_unknown', modelId: '', quarterMs: day + quarterMs, examples: [late] }),
      seriesOf({ examples: [example(day)] }),
    ]);
    const order = (refusals: readonly Refusal[]): string[] => refusals.map(({ requestId }) => requestId);
    const sorted = [...examples, late].toSorted((a, b) =>
      a.refusedAtMs === b.refusedAtMs ? (a.requestId < b.requestId ? 1 : -1) : Number(b.refusedAtMs - a.refusedAtMs),
    );
    expect(order(await listed({ accountId }, 4))).toEqual(order(sorted));
    expect(order(await listed({ accountId, reason: 'model_unknown' }))).toEqual([late.requestId]);
    expect(order(await listed({ accountId, keyId, modelId: 'sandbox/echo', untilMs: day + 1n }))).toEqual(
      order(sorted.filter(({ refusedAtMs }) => refusedAtMs === day)),
    );
    expect(order(await listed({ accountId, fromMs: day + quarterMs }))).toEqual([late.requestId]);
  });

  it('of a flood are all counted, and stored up to a bound that grows with time', async () => {
    const series = seriesOf({ calls: 5000n });
    const { accountId } = series;
    const at = (minute: bigint): Refusal[] => Array.from({ length: 300 }, () => example(day + minute * minuteMs));
    await store([{ ...series, examples: at(0n) }]);
    expect(await listed({ accountId })).toHaveLength(200);
    await store([{ ...series, examples: at(0n) }]);
    expect(await listed({ accountId })).toHaveLength(200);
    await store([{ ...series, examples: at(4n) }]);
    expect(await listed({ accountId })).toHaveLength(220);
    expect(await totals({ accountId })).toEqual([[15_000]]);
    // Other keys have their own bound.
    const other = seriesOf({ accountId, examples: [example(day)] });
    await store([other]);
    expect(await listed({ accountId, keyId: other.keyId })).toHaveLength(1);
  });

  it('are deleted after the retention, and the oldest beyond what an account may have', async () => {
    const old = day - 31n * 86_400_000n;
    const recent = day - 28n * 86_400_000n;
    const accountId = newId('acct');
    await store([
      seriesOf({ accountId, quarterMs: old, examples: [example(old)] }),
      seriesOf({ accountId, quarterMs: recent, examples: [example(recent)] }),
    ]);
    await until(async () => (await totals({ accountId }))[0]![0] === 1 && (await listed({ accountId })).length === 1);
    const keys = Array.from({ length: 6 }, () => newId('key'));
    for (const [index, keyId] of keys.entries()) {
      const examples = Array.from({ length: 200 }, () => example(day + BigInt(index)));
      await store([seriesOf({ accountId, keyId, calls: 200n, examples })]);
    }
    await until(async () => (await listed({ accountId })).length === 1000);
    expect(await listed({ accountId, keyId: keys[0]! })).toEqual([]);
    expect(await totals({ accountId })).toEqual([[1201]]);
  });

  it.each<[string, () => Partial<Parameters<MeteringService['recordRefusals']>[0]>]>([
    ['batch_id', () => ({ batchId: randomBytes(15) })],
    ['series', () => ({ series: [] })],
    ['series.0.account_id', () => ({ series: [seriesOf({ accountId: 'me' })] })],
    ['series.0.key_id', () => ({ series: [seriesOf({ keyId: '' })] })],
    ['series.0.reason', () => ({ series: [seriesOf({ reason: 'No!' })] })],
    ['series.0.quarter_ms', () => ({ series: [seriesOf({ quarterMs: day + 1n })] })],
    ['series.0.calls', () => ({ series: [seriesOf({ calls: 0n })] })],
    ['series.0.examples.request_id', () => ({ series: [seriesOf({ examples: [example(day, { requestId: 'x' })] })] })],
  ])('are rejected with a malformed %s', async (field, changes) => {
    await expect(service.recordRefusals({ batchId: randomBytes(16), series: [seriesOf({})], ...changes() })).rejects.toMatchObject({
      reason: 'invalid_request',
      details: { field },
    });
  });

  it('have long texts cut', async () => {
    const long = example(day, {
      message: 'm'.repeat(5000),
      requestedModel: 'x'.repeat(5000),
      clientRequestId: 'c'.repeat(500),
      details: { field: 'f'.repeat(5000), 'not a name': '1' },
    });
    await store([seriesOf({ examples: [long] })]);
    expect((await service.getRefusal({ requestId: long.requestId, accountId: '' })).refusal).toMatchObject({
      message: 'm'.repeat(1000),
      requestedModel: 'x'.repeat(200),
      clientRequestId: 'c'.repeat(128),
      details: { field: 'f'.repeat(500) },
    });
  });

  it('leave nothing behind after the retention, and are recognised for a day when their batch is sent again', async () => {
    const series = seriesOf({ calls: 40n, examples: [example(day)] });
    const batchId = randomBytes(16);
    const tables = ['refusal_count', 'refused_key', 'refusal', 'refusal_batch'];
    const rows = () => Promise.all(tables.map(async (table) => (await harness.db.knex(table).select()).length));
    await store([series], batchId);
    expect(await rows()).not.toContain(0);
    harness.clock.advance(dayMs - 1000);
    await aWhile();
    await store([series], batchId);
    expect(await totals({ accountId: series.accountId })).toEqual([[40]]);
    harness.clock.advance(31 * dayMs);
    await until(async () => (await rows()).every((count) => count === 0));
  });
});
