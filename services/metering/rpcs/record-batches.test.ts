// The records of one stream: each with the outcome of a call of its own, whatever its neighbours are.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { callContext } from '#kit/rpc/call-context.js';
import { testEngines } from '#kit/testing/database.js';
import type {
  MeteringService,
  RecordBatchesRequest,
  RecordBatchesResponse_Outcome,
  RecordUsageRequest,
} from '#proto/metering/v1/metering.js';
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

  /** The outcomes of one message, in the order of its operations. */
  async function outcomesOf(caller: string, reports: readonly RecordUsageRequest[]): Promise<RecordBatchesResponse_Outcome['outcome'][]> {
    const requests = async function* (): AsyncGenerator<RecordBatchesRequest> {
      yield {
        operations: reports.map((value, tag) => ({ tag, timeoutMs: 10_000, traceparent: '', operation: { $case: 'recordUsage', value } })),
      };
    };
    const outcomes: RecordBatchesResponse_Outcome[] = [];
    for await (const response of service.recordBatches(requests(), callContext({ caller }))) outcomes.push(...response.outcomes);
    return outcomes.sort((a, b) => a.tag - b.tag).map(({ outcome }) => outcome);
  }

  it('are stored, charged and settled, and a malformed one spoils no other', async () => {
    const [first, malformed, last] = [report(), report({ call: call({ id: 'req_?' }) }), report()];
    const outcomes = await outcomesOf('gateway', [first, malformed, last, first]);
    expect(outcomes).toMatchObject([
      { $case: 'recordUsage', value: { replayed: false, record: { chargeNanoUsd: 200_000n } } },
      { $case: 'error', value: { code: 3, message: expect.stringContaining('call.id') } },
      { $case: 'recordUsage', value: { replayed: false } },
      { $case: 'recordUsage', value: { replayed: true, record: { call: { id: first.call!.id } } } },
    ]);
    for (const { id } of [first.call!, last.call!]) await until(async () => (await find(service, id))?.settlement !== undefined);
  });

  it('are for gateways alone', async () => {
    const request = report();
    const outcomes = await outcomesOf('ledger', [request]);
    expect(outcomes).toMatchObject([
      { $case: 'error', value: { code: 7, message: expect.stringContaining('lacks the grant "metering.record"') } },
    ]);
    expect(await find(service, request.call!.id)).toBeUndefined();
  });
});
