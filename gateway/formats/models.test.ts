import { describe, expect, it } from '@jest/globals';
import { Capability, Modality, Model, ModelState, PriceVersion } from '#proto/catalog/v1/catalog.js';
import { ModelPerformance } from '#proto/metering/v1/metering.js';
import { hasReason } from '#client/errors/app-error.js';
import { expectToMatch } from './testing/frames.js';
import { type Paging, renderCatalog, renderModel, renderModelList } from './models.js';
import { Catalog, ModelList, ModelView } from './models-schema.js';

const price = PriceVersion.fromPartial({
  inputNanoUsdPerMtok: 2_500_000_000n,
  cacheReadNanoUsdPerMtok: 250_000_000n,
  cacheWrite5mNanoUsdPerMtok: 3_125_000_000n,
  cacheWrite1hNanoUsdPerMtok: 5_000_000_000n,
  outputNanoUsdPerMtok: 10_000_000_001n,
});
const echo = Model.fromPartial({
  id: 'sandbox/echo',
  displayName: 'Echo',
  description: 'Says it again.',
  provider: 'tollgate',
  contextLimitTokens: 8192,
  outputLimitTokens: 4096,
  inputModalities: [Modality.MODALITY_TEXT],
  outputModalities: [Modality.MODALITY_TEXT],
  capabilities: [Capability.CAPABILITY_TOOLS, Capability.CAPABILITY_PROMPT_CACHE],
  state: ModelState.MODEL_STATE_ACTIVE,
  createdAtMs: 1_763_600_000_000n,
  aliases: ['echo'],
  price,
});
const five = ['a', 'b', 'c', 'd', 'e'].map((id) => ({ ...echo, id }));

describe('a model', () => {
  it('is readable for clients of both formats, with its prices', () => {
    const view = renderModel(echo);
    expectToMatch(ModelView, view);
    expect(view).toEqual({
      id: 'sandbox/echo',
      object: 'model',
      created: 1_763_600_000,
      owned_by: 'tollgate',
      type: 'model',
      display_name: 'Echo',
      created_at: '2025-11-20T00:53:20.000Z',
      max_input_tokens: 8192,
      max_tokens: 4096,
      lifecycle: 'active',
      description: 'Says it again.',
      aliases: ['echo'],
      input_modalities: ['text'],
      output_modalities: ['text'],
      features: ['tools', 'prompt_cache'],
      usd_per_million_tokens: { input: '2.5', cache_read: '0.25', cache_write_5m: '3.125', cache_write_1h: '5', output: '10.000000001' },
      unit_prices: [],
    });
  });

  it('shows its modalities and capabilities, and the tokens held per image if known', () => {
    const seeing = {
      ...echo,
      inputModalities: [Modality.MODALITY_TEXT, Modality.MODALITY_IMAGE, Modality.MODALITY_DOCUMENT],
      capabilities: [Capability.CAPABILITY_STRUCTURED_OUTPUT],
      imageTokensMax: 1600,
    };
    expect(renderModel(seeing)).toMatchObject({
      input_modalities: ['text', 'image', 'document'],
      features: ['structured_output'],
      max_image_tokens: 1600,
    });
    expectToMatch(ModelView, renderModel(seeing));
  });

  it('shows the prices of units that are not tokens, with the most that one call can use', () => {
    const units = [{ unit: 'web_search', nanoUsd: 10_000_000n, maxPerCall: 5 }];
    const view = renderModel({ ...echo, price: { ...price, units } });
    expectToMatch(ModelView, view);
    expect(view.unit_prices).toEqual([{ unit: 'web_search', usd: '0.01', max_per_call: 5 }]);
  });

  it('shows a price of reasoning only if there is one, and null if unpriced', () => {
    expect(renderModel({ ...echo, price: { ...price, reasoningNanoUsdPerMtok: 1_000_000_000n } }).usd_per_million_tokens).toMatchObject({
      reasoning: '1',
    });
    expect(renderModel({ ...echo, price: undefined, state: ModelState.MODEL_STATE_DEPRECATED })).toMatchObject({
      usd_per_million_tokens: null,
      lifecycle: 'deprecated',
    });
  });
});

describe('the list of models', () => {
  it('is whole unless paging is requested', () => {
    const list = renderModelList(five);
    expectToMatch(ModelList, list);
    expect(list).toMatchObject({ object: 'list', has_more: false, first_id: 'a', last_id: 'e' });
    expect(list.data).toHaveLength(5);
    expect(renderModelList([])).toEqual({ object: 'list', data: [], has_more: false, first_id: null, last_id: null });
  });

  it.each<[Paging, string, boolean]>([
    [{ limit: '2' }, 'ab', true],
    [{ limit: '2', afterId: 'b' }, 'cd', true],
    [{ limit: '2', afterId: 'd' }, 'e', false],
    [{ limit: '5' }, 'abcde', false],
    [{ limit: '2', beforeId: 'e' }, 'cd', true],
    [{ limit: '2', beforeId: 'c' }, 'ab', false],
    [{ afterId: 'a' }, 'bcde', false],
    [{ limit: '1', afterId: 'e' }, '', false],
  ])('for %j is %s, with more to come: %s', (paging, ids, hasMore) => {
    const { data, has_more } = renderModelList(five, paging);
    expect(data.map(({ id }) => id).join('')).toBe(ids);
    expect(has_more).toBe(hasMore);
  });

  it.each<[Paging, string]>([
    [{ limit: '0' }, 'limit'],
    [{ limit: '1001' }, 'limit'],
    [{ limit: 'ten' }, 'limit'],
    [{ afterId: 'z' }, 'after_id'],
    [{ beforeId: 'z' }, 'before_id'],
  ])('refuses %j by the name of the parameter', (paging, field) => {
    try {
      renderModelList(five, paging);
      throw new Error('The page was rendered.');
    } catch (error) {
      if (!hasReason(error, 'invalid_request')) throw error;
      expect(error.details['field']).toBe(field);
    }
  });
});

describe('the public catalog', () => {
  it('says which models can be called now', () => {
    const catalog = renderCatalog(
      [echo, { ...echo, id: 'unserved' }, { ...echo, id: 'unpriced', price: undefined }],
      ({ id }) => id !== 'unserved',
    );
    expectToMatch(Catalog, catalog);
    expect(catalog.data.map(({ id, available }) => [id, available])).toEqual([
      ['sandbox/echo', true],
      ['unserved', false],
      ['unpriced', false],
    ]);
  });

  it('has what was measured of the models', () => {
    const period = { availableBasisPoints: 9995, firstOutput: { p50Ms: 300, p95Ms: 900 }, tokensPerSecondP50: 80, tokensPerSecondP5: 20 };
    const measured = ModelPerformance.fromPartial({ modelId: echo.id, lastWeek: period });
    const catalog = renderCatalog([echo, { ...echo, id: 'unmeasured' }], () => true, new Map([[echo.id, measured]]));
    expectToMatch(Catalog, catalog);
    expect(catalog.data.map(({ performance }) => performance)).toEqual([
      {
        last_24h: null,
        last_7d: { available_percent: 99.95, first_token_ms: { p50: 300, p95: 900 }, output_tokens_per_second: { p50: 80, p5: 20 } },
      },
      undefined,
    ]);
  });
});
