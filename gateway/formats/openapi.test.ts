import { describe, expect, it } from '@jest/globals';
import { Key, KeyState, Project } from '#proto/auth/v1/auth.js';
import { Budget } from '#proto/budget/v1/budget.js';
import { Balance, BudgetSpend, KeySpend } from '#proto/ledger/v1/ledger.js';
import { Outcome, Refusal, UsageRecord, UsageSource } from '#proto/metering/v1/metering.js';
import { renderKey } from '../render/key.js';
import { renderRefusal } from '../render/refusal.js';
import { renderUsageRecord, renderUsageRecordAlone } from '../render/usage.js';
import { KeyView, RefusalView, UsageRecordAlone, UsageRecordView } from './account-schema.js';
import { expectToMatch } from './testing/frames.js';
import { openapi } from './openapi.js';

const text = JSON.stringify(openapi);
const document = JSON.parse(text) as {
  paths: Record<string, Record<string, { responses: object; security?: unknown[] }>>;
  components: Record<string, Record<string, unknown>>;
};

describe('the OpenAPI document', () => {
  it('lists every public route', () => {
    const routes = Object.entries(document.paths).flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method} ${path}`));
    expect(routes.toSorted()).toEqual([
      'delete /v1/responses/{id}',
      'get /livez',
      'get /openapi.json',
      'get /readyz',
      'get /v1/catalog',
      'get /v1/key',
      'get /v1/models',
      'get /v1/models/{id}',
      'get /v1/responses/{id}',
      'get /v1/responses/{id}/input_items',
      'get /v1/usage/{request_id}',
      'post /v1/chat/completions',
      'post /v1/embeddings',
      'post /v1/messages',
      'post /v1/messages/count_tokens',
      'post /v1/responses',
      'post /v1/responses/input_tokens',
    ]);
  });

  it('refers only to its own components', () => {
    const references = [...text.matchAll(/"#\/components\/(\w+)\/(\w+)"/g)];
    expect(references.length).toBeGreaterThan(20);
    for (const [, kind, name] of references) expect(document.components[kind!]).toHaveProperty(name!);
  });

  it('says which credentials are accepted, and that some routes need none', () => {
    expect(Object.keys(document.components['securitySchemes']!)).toEqual(['bearer', 'apiKey']);
    const open = Object.entries(document.paths).filter(([, methods]) =>
      Object.values(methods).some(({ security }) => security?.length === 0),
    );
    expect(open.map(([path]) => path)).toEqual(['/v1/catalog', '/livez', '/readyz', '/openapi.json']);
  });

  it('describes streams and the error for insufficient funds', () => {
    for (const path of ['/v1/chat/completions', '/v1/messages']) {
      const { responses } = document.paths[path]!['post']!;
      expect(document.paths[path]!['post']).toHaveProperty(
        'parameters',
        expect.arrayContaining([expect.objectContaining({ name: 'Idempotency-Key', in: 'header' })]),
      );
      expect(responses).toMatchObject({
        409: {},
        410: {},
        422: {},
        200: { content: { 'text/event-stream': {}, 'application/json': {} } },
        402: {},
        401: {},
      });
    }
  });

  it('says in its request schemas what is refused and what has no effect', () => {
    expect(document.components['schemas']!['ChatCompletionRequest']).toMatchObject({
      properties: {
        audio: { 'x-tollgate-unsupported': expect.any(String) },
        store: { 'x-tollgate-ignored': true },
        verbosity: { 'x-tollgate-native-only': true },
        metadata: { 'x-tollgate-native-only': true },
      },
    });
  });

  it('describes refused calls correctly', () => {
    expectToMatch(RefusalView, renderRefusal(Refusal.fromPartial({ requestId: 'req_1', reason: 'model_unknown', httpStatus: 404 })));
    const details = { needed_nano_usd: '1500000000', field: 'max_tokens', rule: 'x', affordable_output_tokens: '7' };
    const refusal = Refusal.fromPartial({ requestId: 'req_1', modelId: 'm', message: 'No.', details, retryAfterMs: 5 });
    expectToMatch(RefusalView, renderRefusal(refusal));
    expect(renderRefusal(refusal)).toMatchObject({ param: 'max_tokens', figures: { needed: '1.5', affordable_output_tokens: '7' } });
  });

  it('describes keys and usage records correctly', () => {
    const key = Key.fromPartial({ id: 'key_1', state: KeyState.KEY_STATE_ACTIVE, lifetimeLimitNanoUsd: 5n, expiresAtMs: 1n });
    const [balance, project] = [Balance.fromPartial({}), Project.fromPartial({ id: 'proj_1', models: { modelIds: ['m'] } })];
    const budgets = [2, 1].map((period) => Budget.fromPartial({ id: `bud_${period}`, scope: 1, period, limitNanoUsd: 5n }));
    const spent = budgets.map(({ id }, index) => BudgetSpend.fromPartial({ budgetId: id, untilMs: BigInt(index) }));
    expectToMatch(KeyView, renderKey({ key, project, budgets }, { balance, key: KeySpend.fromPartial({}), budgets: spent }, 0));
    expectToMatch(KeyView, renderKey({ key: Key.fromPartial({}), project, budgets: [] }, { balance, key: undefined, budgets: [] }, 0));
    const record = {
      call: { id: 'req_1' },
      outcome: Outcome.OUTCOME_COMPLETED,
      source: UsageSource.USAGE_SOURCE_REPORTED,
      tokens: { units: { counts: [{ unit: 'request', count: 1 }] } },
      lineItems: [{ unit: 'input', quantity: 1, per: 1_000_000 }],
    };
    expectToMatch(UsageRecordView, renderUsageRecord(UsageRecord.fromPartial(record)));
    const attempts = [{ reason: 'upstream_failed', durationMs: 3 }, { answered: true }];
    expectToMatch(UsageRecordAlone, renderUsageRecordAlone(UsageRecord.fromPartial({ ...record, call: { id: 'req_1', attempts } })));
    expectToMatch(
      UsageRecordView,
      renderUsageRecord(UsageRecord.fromPartial({ ...record, settlement: {}, firstOutputMs: 3, outcomeDetail: 'x' })),
    );
  });
});
