import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Outcome, GroupBy, UsageRecord } from '#proto/metering/v1/metering.js';
import { type FakeGateway, startFakeGateway, testNowMs } from '../testing/fake-gateway.js';
import { tollgate, tollgateJson } from '../testing/tollgate.js';

let gateway: FakeGateway;

beforeEach(async () => {
  gateway = await startFakeGateway();
});

afterEach(() => gateway.stop());

describe('usage', () => {
  const record = UsageRecord.fromPartial({
    call: { id: 'req_1', modelId: 'sandbox/echo', startedAtMs: BigInt(testNowMs) },
    tokens: { inputTokens: 120, outputTokens: 30 },
    outcome: Outcome.OUTCOME_CLIENT_DISCONNECTED,
    chargeNanoUsd: 12_000n,
    lineItems: [{ unit: 'input', quantity: 120, nanoUsd: 100_000_000n, per: 1_000_000, amountNanoUsd: 12_000n }],
    durationMs: 350,
  });

  it('is filtered by the options', async () => {
    gateway.state.records = [record];
    const listed = await tollgate(gateway, [
      'usage',
      'list',
      '--from',
      '12h',
      '--until',
      '2027-01-31',
      '--model',
      'sandbox/echo',
      '--project',
      'proj_1',
      '--outcome',
      'client-disconnected',
    ]);
    expect(listed.stdout).toMatch(/req_1 +sandbox\/echo +120 +30 +\$0\.000012 +350 +client_disconnected/);
    expect(gateway.state.lastRecordsRequest?.filter).toMatchObject({
      projectIds: ['proj_1'],
      modelId: 'sandbox/echo',
      fromMs: BigInt(testNowMs - 12 * 3_600_000),
      untilMs: BigInt(Date.parse('2027-01-31T00:00Z')),
      outcome: Outcome.OUTCOME_CLIENT_DISCONNECTED,
    });
  });

  it('shows no upstream for a call without one, such as a call for a product of an internal service', async () => {
    gateway.state.records = [record];
    expect((await tollgate(gateway, ['usage', 'show', 'req_1'])).stdout).not.toMatch(/^upstream/m);
  });

  it('streams every record as JSON lines with --all, over several requests', async () => {
    gateway.state.records = Array.from({ length: 1200 }, () => record);
    const objects = await tollgateJson(gateway, ['usage', 'list', '--all']);
    expect(objects).toHaveLength(1200);
    expect(objects[0]).toMatchObject({
      id: 'req_1',
      charge_usd: '0.000012',
      charge_nano_usd: '12000',
      input_tokens: 120,
      outcome: 'client_disconnected',
      settled_at: null,
    });
  });

  it('shows the arithmetic of a charge', async () => {
    gateway.state.records = [record];
    expect((await tollgate(gateway, ['usage', 'show', 'req_1'])).stdout).toMatch(/^input +120 × \$0\.1\/M = \$0\.000012$/m);
  });

  it('shows the attempts of a call, as text and as JSON', async () => {
    const attempts = [
      {
        upstreamId: 'own',
        upstreamModel: 'small',
        offsetMs: 3,
        durationMs: 30,
        reason: 'upstream_overloaded',
        httpStatus: 503,
        upstreamRequestId: 'req_their',
      },
      { upstreamId: 'spare', upstreamModel: 'large', offsetMs: 33, answered: true },
    ];
    gateway.state.records = [UsageRecord.fromPartial({ ...record, call: { ...record.call!, attempts } })];
    expect((await tollgate(gateway, ['usage', 'show', 'req_1'])).stdout).toMatch(
      /^attempts +1\. own:small failed after 30 ms \(upstream_overloaded, status 503, their req_their\); 2\. spare:large answered$/m,
    );
    expect(await tollgateJson(gateway, ['usage', 'show', 'req_1'])).toMatchObject([
      {
        attempts: [
          {
            upstream_id: 'own',
            upstream_model: 'small',
            started_at: new Date(testNowMs + 3).toISOString(),
            duration_ms: 30,
            answered: false,
            reason: 'upstream_overloaded',
            http_status: 503,
            upstream_request_id: 'req_their',
            chosen_by: 'weight',
            credential: null,
          },
          {
            upstream_id: 'spare',
            duration_ms: null,
            answered: true,
            reason: null,
            http_status: null,
            upstream_request_id: null,
            chosen_by: 'weight',
            credential: null,
          },
        ],
      },
    ]);
  });

  it('shows the refunded amount of a charge when the ledger is available', async () => {
    gateway.state.records = [
      UsageRecord.fromPartial({ ...record, settlement: { capturedNanoUsd: 12_000n, settledAtMs: BigInt(testNowMs) } }),
    ];
    expect(await tollgateJson(gateway, ['usage', 'show', 'req_1'])).toMatchObject([{ id: 'req_1', refunded_usd: null }]);
    gateway.state.refundedNanoUsd = 2_000n;
    expect(await tollgateJson(gateway, ['usage', 'show', 'req_1'])).toMatchObject([
      { id: 'req_1', refunded_usd: '0.000002', charge_usd: '0.000012' },
    ]);
    expect((await tollgate(gateway, ['usage', 'show', 'req_1'])).stdout).toContain('$0.000002 has been refunded since');
  });

  it('is summed in nested groups, with days in the given time zone', async () => {
    expect((await tollgate(gateway, ['usage', 'totals'])).stdout).toMatch(/^calls /);
    const summed = await tollgate(gateway, ['usage', 'totals', '--by', 'day', '--then-by', 'model', '--tz-offset', '-08:00']);
    expect(summed.stdout).toMatch(/^day +model +calls /);
    expect(summed.stdout).toMatch(/2027-01-15 +sandbox\/echo +2 +0 +\$0\.000012/);
    expect(gateway.state.lastTotalsRequest).toMatchObject({
      groupBy: GroupBy.GROUP_BY_DAY,
      thenBy: GroupBy.GROUP_BY_MODEL,
      offsetMinutes: -480,
    });
  });
});
