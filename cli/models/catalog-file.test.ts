import { describe, expect, it } from '@jest/globals';
import { Capability, Modality, Model, ModelState, PriceVersion, Tokenizer } from '#proto/catalog/v1/catalog.js';
import { fault } from '#client/errors/fault.js';
import type { Services } from '../connect.js';
import { catalogText, importListed, parseCatalogFile } from './catalog-file.js';

const model = Model.fromPartial({
  id: 'acme/one',
  displayName: 'One',
  contextLimitTokens: 1000,
  outputLimitTokens: 100,
  inputModalities: [Modality.MODALITY_TEXT],
  outputModalities: [Modality.MODALITY_TEXT],
  capabilities: [Capability.CAPABILITY_TOOLS],
  tokenizer: Tokenizer.TOKENIZER_O200K,
  state: ModelState.MODEL_STATE_ACTIVE,
  targets: [{ upstreamId: 'acme', upstreamModel: 'one' }],
  aliases: ['one'],
  prefixAffinity: true,
});
const price = PriceVersion.fromPartial({
  modelId: 'acme/one',
  inputNanoUsdPerMtok: 1_000_000_001n,
  outputNanoUsdPerMtok: 5n,
  reasoningNanoUsdPerMtok: 7n,
});

const changed = (change: (entry: Record<string, unknown>) => void): string => {
  const document = JSON.parse(catalogText([{ ...model, price }])) as { models: Record<string, unknown>[] };
  change(document.models[0]!);
  return JSON.stringify(document);
};

describe('the catalog as a document', () => {
  it('survives a round trip, including unpriced models', () => {
    const text = catalogText([
      { ...model, price: { ...price, id: 'price_1', effectiveFromMs: 5n } },
      { ...model, id: 'acme/two', aliases: [] },
    ]);
    expect(parseCatalogFile(text)).toEqual([
      { model, price },
      { model: { ...model, id: 'acme/two', aliases: [] }, price: undefined },
    ]);
  });

  it.each([
    ['[]', 'no list "models"'],
    ['{"models":[7]}', 'models[0] is not an object'],
    [changed((entry) => (entry['display_name'] = '')), 'models[0]: The model is invalid: display_name'],
    [changed((entry) => (entry['usd_per_million_tokens'] = { input: 2.5 })), 'models[0]: usd_per_million_tokens.input must be'],
    [changed((entry) => (entry['usd_per_million_tokens'] = { input: '-1' })), 'models[0]: usd_per_million_tokens.input must be'],
  ])('is rejected with the fault: %#', (text, fault) => {
    expect(() => parseCatalogFile(text)).toThrow(fault);
  });
});

describe('the models of an upstream', () => {
  it('do not replace a model that another operator creates during the import', async () => {
    const models: Model[] = [];
    const catalog: Partial<Services['catalog']> = {
      async listModels() {
        const before = [...models];
        models.push({ ...model, displayName: 'Of another operator' });
        return { models: before, scheduledPrices: [] };
      },
      async putModel({ model: put, createOnly }) {
        if (createOnly === true && models.some(({ id }) => id === put!.id)) throw fault('model_exists', { id: put!.id });
        models.splice(0, 1, put!);
        return { model: put };
      },
      publishPrice: async () => ({ price }),
    };
    const importing = importListed(catalog as Services['catalog'], [model], () => price, false);
    await expect(importing).rejects.toMatchObject({ reason: 'already_exists' });
    expect(models).toMatchObject([{ displayName: 'Of another operator' }]);
  });
});
