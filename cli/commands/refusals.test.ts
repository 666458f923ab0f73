import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Refusal, RefusalGroupBy } from '#proto/metering/v1/metering.js';
import { type FakeGateway, startFakeGateway, testNowMs } from '../testing/fake-gateway.js';
import { tollgate, tollgateJson } from '../testing/tollgate.js';

let gateway: FakeGateway;

beforeEach(async () => {
  gateway = await startFakeGateway();
  gateway.state.refusals = [
    Refusal.fromPartial({
      requestId: 'req_1',
      keyId: 'key_1',
      modelId: 'sandbox/echo',
      requestedModel: 'echo',
      reason: 'balance_empty',
      httpStatus: 402,
      refusedAtMs: BigInt(testNowMs),
      message: 'The account balance is too low.',
      details: { needed_nano_usd: '1500000000', available_nano_usd: '250000000', rule: 'balance_needed' },
    }),
  ];
});

afterEach(() => gateway.stop());

describe('refusals', () => {
  it('are filtered by the options and listed with their figures', async () => {
    const args = ['--reason', 'balance-empty', '--from', '12h', '--key', 'key_1'];
    const { stdout } = await tollgate(gateway, ['refusals', 'list', ...args]);
    expect(stdout).toMatch(/req_1 +key_1 +sandbox\/echo +402 +balance_empty +needed \$1\.5, available \$0\.25$/m);
    expect(gateway.state.lastRefusalsRequest?.filter).toMatchObject({
      keyId: 'key_1',
      reason: 'balance_empty',
      fromMs: BigInt(testNowMs - 12 * 3_600_000),
    });
    expect(await tollgate(gateway, ['refusals', 'list', '--reason', 'poverty'])).toMatchObject({ code: 2 });
  });

  it('can be shown one by one, with the requested model', async () => {
    expect((await tollgate(gateway, ['refusals', 'show', 'req_1'])).stdout).toMatch(/^requested model +echo$/m);
    expect(await tollgateJson(gateway, ['refusals', 'show', 'req_1'])).toMatchObject([
      { request_id: 'req_1', model_id: 'sandbox/echo', http_status: 402, details: { needed_nano_usd: '1500000000' }, trace_id: null },
    ]);
  });

  it('link to their trace if traces can be opened', async () => {
    gateway.state.refusals[0]!.traceId = '0af7651916cd43dd8448eb211c80319c';
    const env = { ...gateway.env, TOLLGATE_GATEWAY_TRACE_URL: 'https://jaeger.example.com/trace/{trace_id}' };
    const link = 'https://jaeger.example.com/trace/0af7651916cd43dd8448eb211c80319c';
    expect((await tollgate(gateway, ['refusals', 'show', 'req_1'], { env })).stdout).toMatch(new RegExp(`^trace +${link}$`, 'm'));
    expect(await tollgateJson(gateway, ['refusals', 'show', 'req_1'], { env })).toMatchObject([{ trace_url: link }]);
    expect((await tollgate(gateway, ['refusals', 'show', 'req_1'])).stdout).toMatch(/^trace +0af7651916cd43dd8448eb211c80319c$/m);
    const wrong = { ...env, TOLLGATE_GATEWAY_TRACE_URL: 'https://jaeger.example.com/' };
    expect((await tollgate(gateway, ['refusals', 'show', 'req_1'], { env: wrong })).stderr).toContain('{trace_id}');
  });

  it('are counted by reason, or by other groups', async () => {
    expect((await tollgate(gateway, ['refusals', 'totals'])).stdout).toMatch(/^reason +calls\nbalance_empty +7\n$/);
    expect(gateway.state.lastRefusalTotalsRequest).toMatchObject({ groupBy: RefusalGroupBy.REFUSAL_GROUP_BY_REASON });
    const nested = await tollgate(gateway, ['refusals', 'totals', '--by', 'hour', '--then-by', 'model', '--tz-offset', '+05:45']);
    expect(nested.stdout).toMatch(/^hour +model +calls\n/);
    expect(gateway.state.lastRefusalTotalsRequest).toMatchObject({
      groupBy: RefusalGroupBy.REFUSAL_GROUP_BY_HOUR,
      thenBy: RefusalGroupBy.REFUSAL_GROUP_BY_MODEL,
      offsetMinutes: 345,
    });
  });
});
