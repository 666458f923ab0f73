// The records of one stream: each has the same result as a separate call, whatever the other records are.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { callContext } from '#client/call-context.js';
import { testEngines } from '#kit/testing/database.js';
import type { MeteringService, BatchRequest, BatchResponse_Result, RecordUsageRequest } from '#proto/metering/v1/metering.js';
import { call, report } from '../testing/calls.js';
import { find, Harness, until } from '../testing/harness.js';

describe.each(testEngines)('records on a stream on %s', (engine) => {
  let harness: Harness;
  let service: MeteringService;

  beforeAll(async () => {
    harness = await Harness.create(engine);
    ({ service } = await harness.replica());
  });

  afterAll(() => harness.close());

  /** Returns the results of one message, in the order of its operations. */
  async function outcomesOf(caller: string, reports: readonly RecordUsageRequest[]): Promise<BatchResponse_Result['result'][]> {
    const requests = async function* (): AsyncGenerator<BatchRequest> {
      yield {
        operations: reports.map((value, tag) => ({ tag, timeoutMs: 10_000, traceparent: '', operation: { $case: 'recordUsage', value } })),
      };
    };
    const responses = await Array.fromAsync(service.batch(requests(), callContext({ caller })));
    return responses
      .flatMap(({ results }) => results)
      .sort((a, b) => a.tag - b.tag)
      .map(({ result }) => result);
  }

  it('are stored, charged and settled, and a malformed one affects no other', async () => {
    const [first, malformed, last] = [report(), report({ call: call({ id: 'req_?' }) }), report()];
    const results = await outcomesOf('gateway', [first, malformed, last, first]);
    expect(results).toMatchObject([
      { $case: 'recordUsage', value: { replayed: false, record: { chargeNanoUsd: 200_000n } } },
      { $case: 'error', value: { code: 3, message: expect.stringContaining('call.id') } },
      { $case: 'recordUsage', value: { replayed: false } },
      { $case: 'recordUsage', value: { replayed: true, record: { call: { id: first.call!.id } } } },
    ]);
    for (const { id } of [first.call!, last.call!]) await until(async () => (await find(service, id))?.settlement !== undefined);
  });

  it('are accepted from gateways only', async () => {
    const request = report();
    const results = await outcomesOf('ledger', [request]);
    expect(results).toMatchObject([
      { $case: 'error', value: { code: 7, message: expect.stringContaining('lacks the grant "metering.record"') } },
    ]);
    expect(await find(service, request.call!.id)).toBeUndefined();
  });
});
