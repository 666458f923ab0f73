import { describe, expect, it } from '@jest/globals';
import { AppError } from '#client/errors/app-error.js';
import { Key, Project } from '#proto/auth/v1/auth.js';
import { Modality, Model, PriceVersion } from '#proto/catalog/v1/catalog.js';
import { ApiFormat, GenerateRequest } from '#proto/inference/v1/inference.js';
import { type BudgetShare, Hold, type HoldRequest } from '#proto/ledger/v1/ledger.js';
import { ModelFallback } from '#proto/metering/v1/metering.js';
import type { CallableModel } from '../../replicas/models.js';
import { BudgetFallbacks } from './budget-fallback.js';
import { type CallDeps, meteredCall } from '../metered-call.js';
import { callWorld, read } from '../testing/call-world.js';

const nowMs = 1_800_000_000_000;
const callable = (id: string, inputNanoUsdPerMtok: bigint, changes: Partial<Model> = {}): CallableModel => ({
  model: Model.fromPartial({ id, contextLimitTokens: 10_000, outputLimitTokens: 1000, ...changes }),
  price: PriceVersion.fromPartial({ inputNanoUsdPerMtok, outputNanoUsdPerMtok: 4n * inputNanoUsdPerMtok }),
  targets: [],
});
const dear = callable('dear', 100_000_000n);
const budgets = [{ id: 'bud_1' }];
const share: BudgetShare = { budgetId: 'bud_1', spentPercent: 80, untilMs: BigInt(nowMs + 1) };

interface Situation {
  cheaper?: CallableModel | AppError;
  project?: Parameters<typeof Project.fromPartial>[0];
  keyModels?: string[];
  known?: BudgetShare | undefined;
  call?: object;
}

function situation({ cheaper = callable('cheap', 10_000_000n), project = {}, keyModels, known = share, call = {} }: Situation) {
  const fallbacks = new BudgetFallbacks({
    resolve() {
      if (cheaper instanceof AppError) throw cheaper;
      return cheaper;
    },
  });
  const request = {
    key: Key.fromPartial({ models: { allModels: keyModels === undefined, modelIds: keyModels ?? [] } }),
    project: Project.fromPartial({ id: 'proj_1', budgets, budgetFallback: { modelId: 'cheap', fromPercent: 80 }, ...project }),
    format: ApiFormat.API_FORMAT_MESSAGES,
    parsed: {
      model: 'dear',
      streaming: true,
      includeUsage: false,
      inputTokensMax: 5000,
      images: 0,
      documents: 0,
      needs: [],
      droppedFields: [],
      request: GenerateRequest.fromPartial({}),
      ...call,
    },
  };
  if (known !== undefined) fallbacks.note(request, known);
  return { fallbacks, request };
}

describe('the model of a call in a project with a cheaper model', () => {
  it('is the cheaper one from the share on, with the reason', () => {
    const { fallbacks, request } = situation({});
    expect(fallbacks.choose(request, dear, nowMs)).toMatchObject({
      callable: { model: { id: 'cheap' } },
      fallback: { requestedModelId: 'dear', budgetId: 'bud_1', spentPercent: 80 },
    });
  });

  it.each<[string, Situation]>([
    ['nothing is known yet of the budget', { known: { ...share, budgetId: 'bud_0' } }],
    ['less is spent', { known: { ...share, spentPercent: 79 } }],
    ['the period is over', { known: { ...share, untilMs: BigInt(nowMs) } }],
    ['the budget was removed', { project: { budgets: [] } }],
    ['the key may not use the cheaper one', { keyModels: ['dear'] }],
    ['the project may not use the cheaper one', { project: { models: { allModels: false, modelIds: ['dear'] } } }],
    ['the cheaper one has become more expensive', { cheaper: callable('cheap', 101_000_000n) }],
    ['the cheaper one is not there', { cheaper: new AppError('model_unknown', 'No.') }],
    ['the cheaper one was requested', { cheaper: dear, project: { budgetFallback: { modelId: 'dear', fromPercent: 80 } } }],
    ['the prompt may be too long for the cheaper one', { cheaper: callable('cheap', 10_000_000n, { contextLimitTokens: 4999 }) }],
    [
      'vectors were requested, because those of different models cannot be compared',
      { call: { request: GenerateRequest.fromPartial({ embedding: {} }) } },
    ],
    [
      'the answer must follow a schema, which the cheaper one does not guarantee',
      {
        call: {
          request: GenerateRequest.fromPartial({
            responseFormat: { format: { $case: 'jsonSchema', value: { name: 'a', schemaJson: '{}' } } },
          }),
        },
      },
    ],
    ['the cheaper one cannot read an image', { call: { needs: [{ modality: Modality.MODALITY_IMAGE, field: 'messages' }] } }],
    [
      'a field has a meaning in one format only',
      { call: { request: { native: { refusedElsewhere: [{ field: 'f', text: 't' }] }, choices: 0 } } },
    ],
  ])('is the requested one if %s', (_, given) => {
    const { fallbacks, request } = situation(given);
    expect(fallbacks.choose(request, dear, nowMs)).toEqual({ callable: dear });
  });

  it('is the cheaper one after a budget of the project refused the call, whatever is spent', () => {
    const refusal = (details: Record<string, string>): AppError =>
      new AppError('budget_reached', 'No.', {
        details: { scope: 'project', budget_id: 'bud_1', limit_nano_usd: '1000', spent_nano_usd: '800', ...details },
      });
    const after = (error: AppError) => {
      const { fallbacks, request } = situation({ known: undefined });
      return fallbacks.afterRefusal(request, dear, error, nowMs)?.callable.model.id;
    };
    expect(after(refusal({}))).toBe('cheap');
    expect(after(refusal({ resets_at: new Date(nowMs + 1000).toISOString() }))).toBe('cheap');
    // The rest is held by calls in flight.
    expect(after(refusal({ spent_nano_usd: '0', held_nano_usd: '1000' }))).toBe('cheap');
    expect(after(refusal({ scope: 'key' }))).toBeUndefined();
    expect(after(new AppError('balance_empty', 'No.'))).toBeUndefined();
  });

  it('is the cheaper one where the limit that refused the call is zero', () => {
    const { fallbacks, request } = situation({ known: undefined });
    const error = new AppError('budget_reached', 'No.', {
      details: { scope: 'project', budget_id: 'bud_1', limit_nano_usd: '0', spent_nano_usd: '0' },
    });
    expect(fallbacks.afterRefusal(request, dear, error, nowMs)?.fallback).toMatchObject({ spentPercent: 100 });
  });

  it('has a share that can be recorded, however small the limit that refused the call is', () => {
    const { fallbacks, request } = situation({ known: undefined });
    const error = new AppError('budget_reached', 'No.', {
      details: { scope: 'project', budget_id: 'bud_1', limit_nano_usd: '1', spent_nano_usd: '50000000' },
    });
    const { fallback } = fallbacks.afterRefusal(request, dear, error, nowMs)!;
    expect(ModelFallback.decode(ModelFallback.encode(fallback!).finish())).toEqual({
      requestedModelId: 'dear',
      budgetId: 'bud_1',
      spentPercent: 1000,
    });
  });
});

describe('a call in a project with a cheaper model', () => {
  /** Makes calls whose holds `hold` answers; returns the model of each, or why it was refused, and its holds. */
  async function calls(count: number, hold: (request: HoldRequest) => BudgetShare | undefined) {
    const { deps, request } = callWorld();
    const cheap = callable('cheap', 10_000_000n);
    const targets = [{ upstreamId: 'u', upstreamModel: 'm' }];
    const models = {
      resolve: (name: string) => ({ ...(name === 'cheap' ? cheap : dear), targets }),
    } as unknown as CallDeps['models'];
    const holds: HoldRequest[] = [];
    const ledger = {
      ...deps.peers.ledger,
      async hold(holdRequest: HoldRequest) {
        holds.push(holdRequest);
        const projectShare = hold(holdRequest);
        return {
          hold: Hold.fromPartial({ id: holdRequest.holdId, amountNanoUsd: holdRequest.amountNanoUsd }),
          replayed: false,
          projectShare,
        };
      },
    };
    const peers = { ...deps.peers, ledger };
    const world = { ...deps, peers, models, fallbacks: new BudgetFallbacks(models) };
    const { request: project } = situation({});
    const used: unknown[] = [];
    for (let call = 0; call < count; call += 1) {
      const metered = { ...request(), project: project.project, disconnected: new AbortController().signal };
      const steps = meteredCall({ ...metered, parsed: { ...metered.parsed, model: 'dear' } }, world);
      const first = await steps.next().catch((error: AppError) => error.reason);
      used.push(typeof first === 'string' ? first : first.value?.kind === 'admitted' && first.value.modelId);
      await read(steps);
    }
    return { used, holds };
  }

  it('uses it once the hold of an earlier call reported the share', async () => {
    const { used, holds } = await calls(2, () => ({ ...share, untilMs: 0n }));
    expect(used).toEqual(['dear', 'cheap']);
    expect(holds.map(({ withProjectShare }) => withProjectShare)).toEqual([true, true]);
  });

  it('is refused if its budget does not cover the cheaper one either', async () => {
    const { used, holds } = await calls(1, () => {
      throw new AppError('budget_reached', 'No.', {
        details: { scope: 'project', budget_id: 'bud_1', limit_nano_usd: '10', spent_nano_usd: '8' },
      });
    });
    expect(used).toEqual(['budget_reached']);
    expect(holds[1]!.amountNanoUsd).toBeLessThan(holds[0]!.amountNanoUsd);
    expect(holds).toHaveLength(2);
  });
});
