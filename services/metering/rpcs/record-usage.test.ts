import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { idToBytes, newId } from '#kit/id.js';
import { callContext } from '#client/call-context.js';
import { testEngines } from '#kit/testing/database.js';
import { TargetChoice } from '#proto/inference/v1/inference.js';
import {
  type Attempt,
  Outcome,
  type MeteringService,
  type RecordUsageRequest,
  UsageRecord,
  UsageSource,
} from '#proto/metering/v1/metering.js';
import { call, price, report, tokens } from '../testing/calls.js';
import { checkpoint, find, Harness, outboxOf, record, until } from '../testing/harness.js';

describe.each(testEngines)('a recorded call on %s', (engine) => {
  let harness: Harness;
  let service: MeteringService;

  beforeAll(async () => {
    harness = await Harness.create(engine);
    ({ service } = await harness.replica());
  });

  afterAll(() => harness.close());

  it('is charged tokens times price and reads back as it was returned', async () => {
    const request = report({
      call: call({ price: price({ reasoningNanoUsdPerMtok: 3_000_000_000n }) }),
      tokens: tokens({ inputTokens: 7, outputTokens: 9, reasoningTokens: 4 }),
    });
    const stored = await record(service, request);
    expect(stored).toMatchObject({
      call: request.call,
      tokens: request.tokens,
      chargeNanoUsd: 7_000n + 10_000n + 12_000n,
      firstOutputMs: 120,
      durationMs: 900,
      quarantined: false,
    });
    const read = await find(service, stored.call!.id);
    expect({ ...read, settlement: undefined }).toEqual(stored);
  });

  describe('with prices for other units', () => {
    const units = [
      { unit: 'request', nanoUsd: 1_000_000n, maxPerCall: 1 },
      { unit: 'web_search', nanoUsd: 10_000_000n, maxPerCall: 5 },
    ];
    const count = (unit: string, used: number) => ({ unit, count: used });
    const searching = (used: number, changes: Partial<RecordUsageRequest> = {}): RecordUsageRequest =>
      report({
        call: call({ price: price({ units }), unitCaps: { counts: [count('web_search', 3)] } }),
        tokens: tokens({ inputTokens: 100, outputTokens: 50, units: { counts: [count('web_search', used)] } }),
        ...changes,
      });

    it('is charged one request and each search, and reads back as it was returned', async () => {
      const stored = await record(service, searching(2));
      expect(stored).toMatchObject({ chargeNanoUsd: 200_000n + 1_000_000n + 20_000_000n, quarantined: false });
      expect(stored.lineItems.slice(2).map(({ unit, quantity, amountNanoUsd }) => [unit, quantity, amountNanoUsd])).toEqual([
        ['request', 1, 1_000_000n],
        ['web_search', 2, 20_000_000n],
      ]);
      expect({ ...(await find(service, stored.call!.id)), settlement: undefined }).toEqual(stored);
      await until(async () => harness.ledger.settled.has(stored.call!.id));
      expect(harness.ledger.settled.get(stored.call!.id)?.costNanoUsd).toBe(21_200_000n);
    });

    it('is charged at most what was held for searches, and is quarantined', async () => {
      const stored = await record(service, searching(4));
      expect(stored).toMatchObject({ chargeNanoUsd: 200_000n + 1_000_000n + 30_000_000n, quarantined: true });
      expect(stored.outcomeDetail).toBe('unit_above_cap (web_search 4 of 3)');
    });

    it('counts no request when it is free, whatever its reporter counted', async () => {
      const counts = tokens({ inputTokens: 5, units: { counts: [count('request', 1), count('web_search', 1)] } });
      const stored = await record(service, searching(1, { tokens: counts, free: true, outcome: Outcome.OUTCOME_TIMEOUT }));
      expect(stored).toMatchObject({ chargeNanoUsd: 0n, lineItems: [] });
      expect(stored.tokens!.units!.counts).toEqual([count('web_search', 1)]);
      expect({ ...(await find(service, stored.call!.id)), settlement: undefined }).toEqual(stored);
    });

    it('is the call of an internal product by its own name, which cannot record units without a price', async () => {
      const used = call({
        format: 0,
        product: 'image-studio',
        upstreamId: '',
        upstreamModel: '',
        price: price({ units }),
        unitCaps: { counts: [count('web_search', 3)] },
      });
      const stored = await record(service, report({ call: used, tokens: tokens({ units: { counts: [count('web_search', 1)] } }) }));
      expect(stored).toMatchObject({ call: { product: 'image-studio' }, chargeNanoUsd: 11_000_000n });
      expect({ ...(await find(service, stored.call!.id)), settlement: undefined }).toEqual(stored);
      const unpriced = report({ call: used, tokens: tokens({ units: { counts: [count('image', 1)] } }) });
      const details = { field: 'tokens.units.counts[0].unit' };
      await expect(record(service, unpriced)).rejects.toMatchObject({ reason: 'invalid_request', details });
    });

    it.each([
      ['call.product', { call: call({ format: 0, product: 'Images' }) }],
      ['call.format', { call: call({ product: 'image-studio' }) }],
      ['call.price.units[0]', { call: call({ price: price({ units: [{ unit: 'Request', nanoUsd: 1n, maxPerCall: 1 }] }) }) }],
      ['call.unit_caps.counts[0].unit', { call: call({ unitCaps: { counts: [count('', 1)] } }) }],
      ['tokens.units.counts[1].unit', { tokens: tokens({ units: { counts: [count('image', 1), count('image', 1)] } }) }],
    ])('is refused with a malformed %s', async (field, changes) => {
      await expect(record(service, report(changes))).rejects.toMatchObject({ reason: 'invalid_request', details: { field } });
    });
  });

  it('keeps its attempts, and those of a typical call in a few bytes', async () => {
    const answered = {
      upstreamId: 'sandbox',
      upstreamModel: 'echo',
      offsetMs: 41,
      answered: true,
      reason: '',
      httpStatus: 0,
      upstreamRequestId: '',
    };
    const cases: [Attempt[], string | null][] = [
      [[], null],
      [[{ ...answered, offsetMs: 3 }], '[[3]]'],
      [
        [
          {
            upstreamId: 'other',
            upstreamModel: 'm',
            offsetMs: 2,
            durationMs: 0,
            answered: false,
            reason: 'upstream_overloaded',
            httpStatus: 503,
            upstreamRequestId: 'req_1',
          },
          answered,
        ],
        '[[2,1,"upstream_overloaded",0,503,"other","m","req_1"],[41]]',
      ],
      [
        [
          { ...answered, durationMs: 0, answered: false, reason: 'unsupported_field' },
          { ...answered, answered: false },
        ],
        '[[41,1,"unsupported_field",0],[41,1]]',
      ],
      [[{ ...answered, choice: TargetChoice.TARGET_CHOICE_PREFIX, credentialId: 'second' }], '[[41,0,"",null,0,"","","",1,"second"]]'],
    ];
    for (const [attempts, text] of cases) {
      const stored = await record(service, report({ call: call({ attempts }) }));
      expect(stored.call!.attempts).toEqual(attempts);
      const read = await find(service, stored.call!.id);
      expect(read!.call!.attempts).toEqual(attempts);
      const row = (await harness.db
        .knex('usage_record')
        .select('attempts')
        .where({ id: idToBytes('req', stored.call!.id) })
        .first()) as { attempts: string | null };
      expect(row.attempts).toBe(text);
    }
  });

  it('is stored even if it has too many or too long attempts, and without text of a vendor', async () => {
    const attempt = {
      upstreamId: 'u'.repeat(300),
      upstreamModel: 'm'.repeat(300),
      offsetMs: 1,
      durationMs: 2,
      answered: false,
      reason: 'Not a reason.',
      httpStatus: 500,
      upstreamRequestId: 'Your key is wrong.',
    };
    const stored = await record(service, report({ call: call({ attempts: Array.from({ length: 40 }, () => attempt) }) }));
    const { attempts } = (await find(service, stored.call!.id))!.call!;
    expect(attempts).toEqual(
      Array.from({ length: 16 }, () => ({
        ...attempt,
        upstreamId: 'u'.repeat(200),
        upstreamModel: 'm'.repeat(200),
        reason: 'internal',
        upstreamRequestId: '',
      })),
    );
  });

  it('is settled at the ledger at once, for its account and key', async () => {
    const request = report();
    const { id, accountId, keyId } = request.call!;
    await record(service, request);
    await until(async () => (await find(service, id))?.settlement !== undefined);
    expect((await find(service, id))?.settlement).toEqual({
      capturedNanoUsd: 200_000n,
      shortfallNanoUsd: 0n,
      settledAtMs: BigInt(harness.clock.nowMs()),
    });
    expect(harness.ledger.settled.get(id)).toEqual({ holdId: id, accountId, keyId, costNanoUsd: 200_000n });
    expect((await outboxOf(service)).pending).toBe(0n);
  });

  it('returns the first record to a repeat, whatever the repeat contains', async () => {
    const request = report();
    await record(service, request);
    const { record: repeated, replayed } = await service.recordUsage({ ...request, tokens: tokens({ inputTokens: 9_999 }) });
    expect(replayed).toBe(true);
    expect(repeated).toMatchObject({ tokens: { inputTokens: 100 }, chargeNanoUsd: 200_000n });
    await until(() => harness.ledger.settled.has(request.call!.id));
    expect(harness.ledger.settled.get(request.call!.id)?.costNanoUsd).toBe(200_000n);
  });

  it('is returned with only its charge and tokens if the caller requests no more', async () => {
    const request = report({ chargeOnly: true });
    const { record: first } = await service.recordUsage(request);
    expect(first).toEqual(UsageRecord.fromPartial({ tokens: request.tokens!, chargeNanoUsd: 200_000n }));
    expect(await service.recordUsage(request)).toMatchObject({ replayed: true, record: first });
  });

  it('is not shown to another account that uses its id', async () => {
    const request = report();
    await record(service, request);
    const other = { ...request, call: { ...request.call!, accountId: newId('acct') } };
    await expect(service.recordUsage(other)).rejects.toMatchObject({ reason: 'idempotency_mismatch' });
    await expect(service.getUsageRecord({ callId: request.call!.id, accountId: newId('acct') })).rejects.toMatchObject({
      reason: 'not_found',
    });
  });

  it.each([
    ['that is free', { free: true, outcome: Outcome.OUTCOME_GATEWAY_ERROR }],
    ['that failed before output', { outcome: Outcome.OUTCOME_UPSTREAM_ERROR_BEFORE_OUTPUT }],
  ])('%s costs nothing, shows no lines, and still ends its hold', async (_, changes) => {
    const request = report(changes);
    const stored = await record(service, request);
    expect(stored).toMatchObject({ chargeNanoUsd: 0n, lineItems: [], tokens: request.tokens });
    await until(async () => (await find(service, request.call!.id))?.settlement !== undefined);
    expect(harness.ledger.settled.get(request.call!.id)?.costNanoUsd).toBe(0n);
    expect((await find(service, request.call!.id))?.lineItems).toEqual([]);
  });

  it('with implausible figures from the upstream is quarantined and charged only up to the cap', async () => {
    const request = report({ tokens: tokens({ inputTokens: 100, outputTokens: 4_000_000_000 }) });
    await record(service, request);
    expect(await find(service, request.call!.id)).toMatchObject({
      quarantined: true,
      source: UsageSource.USAGE_SOURCE_ESTIMATED,
      outcomeDetail: 'output_above_cap (4000000000 of 1000)',
      tokens: { inputTokens: 100, outputTokens: 1000 },
      chargeNanoUsd: 2_100_000n,
    });
    expect(harness.lines.some((line) => line.call_id === request.call!.id && line.msg.includes('breaks a rule'))).toBe(true);
  });

  it('keeps the quarantine set by its reporter', async () => {
    const request = report({ quarantined: true, source: UsageSource.USAGE_SOURCE_ESTIMATED, outcomeDetail: 'cached_above_input' });
    expect(await record(service, request)).toMatchObject({ quarantined: true, outcomeDetail: 'cached_above_input' });
  });

  it('is not lost because of long texts, which are cut', async () => {
    const stored = await record(service, report({ call: call({ clientRequestId: 'é'.repeat(500) }), outcomeDetail: 'é'.repeat(500) }));
    expect(stored.call?.clientRequestId).toBe('é'.repeat(128));
    expect((await find(service, stored.call!.id))?.outcomeDetail).toBe('é'.repeat(200));
  });

  it('is no longer a call in flight', async () => {
    const request = report();
    const before = (await outboxOf(service)).openCalls;
    await checkpoint(service, { call: request.call, tokens: request.tokens });
    expect((await outboxOf(service)).openCalls).toBe(before + 1n);
    await record(service, request);
    expect((await outboxOf(service)).openCalls).toBe(before);
  });

  it('is not stored when its caller no longer waits, but as it is reported again', async () => {
    const request = report();
    await expect(service.recordUsage(request, callContext({ caller: 'gateway', timeoutMs: -1 }))).rejects.toMatchObject({
      reason: 'deadline_exceeded',
    });
    expect(await find(service, request.call!.id)).toBeUndefined();
    expect(await record(service, { ...request, free: true })).toMatchObject({ chargeNanoUsd: 0n });
  });

  it('shares its transaction with others, and is affected by none of them', async () => {
    const first = report();
    await record(service, first);
    const fresh = Array.from({ length: 60 }, () => report());
    // Besides the new ones: a repeat of a stored call, and one id twice.
    const requests = [...fresh.slice(0, 20), first, ...fresh.slice(20), fresh[5]!];
    const answers = await Promise.all(requests.map((request) => service.recordUsage(request)));
    expect(answers.filter((answer) => answer.replayed)).toHaveLength(2);
    expect(answers.map((answer) => answer.record?.call?.id)).toEqual(requests.map((request) => request.call!.id));
    await until(() => fresh.every((request) => harness.ledger.settled.has(request.call!.id)));
  });

  const refusals: [string, RecordUsageRequest][] = [
    ['call', report({ call: undefined })],
    ['call.id', report({ call: call({ id: 'req_1' }) })],
    ['call.account_id', report({ call: call({ accountId: newId('key') }) })],
    ['call.price', report({ call: { ...call(), price: undefined } })],
    ['call.price.output_nano_usd_per_mtok', report({ call: call({ price: price({ outputNanoUsdPerMtok: -1n }) }) })],
    ['call.output_cap_tokens', report({ call: call({ outputCapTokens: 2 ** 32 }) })],
    ['call.started_at_ms', report({ call: call({ startedAtMs: 0n }) })],
    ['call.trace_id', report({ call: call({ traceId: 'xyz' }) })],
    ['tokens', report({ tokens: undefined })],
    ['source', report({ source: UsageSource.USAGE_SOURCE_UNSPECIFIED })],
    ['outcome', report({ outcome: Outcome.OUTCOME_UNSPECIFIED })],
    ['outcome', report({ outcome: Outcome.OUTCOME_GATEWAY_LOST })],
    ['duration_ms', report({ durationMs: -1 })],
  ];
  it.each(refusals)('is rejected for a malformed %s, and leaves no trace', async (field, request) => {
    await expect(service.recordUsage(request)).rejects.toMatchObject({ reason: 'invalid_request', details: { field } });
    if (request.call !== undefined) expect(await find(service, request.call.id)).toBeUndefined();
  });
});
