import { describe, expect, it } from '@jest/globals';
import { Capability, Modality, Tokenizer } from '#proto/catalog/v1/catalog.js';
import { parseSeed, SeedError } from './seed.js';
import seedFile from './models.json' with { type: 'json' };

const entry = {
  id: 'acme/small',
  aliases: ['small'],
  display_name: 'Acme Small',
  description: 'Small and quick.',
  provider: 'acme',
  state: 'active',
  context_limit_tokens: 32_000,
  output_limit_tokens: 4000,
  input_modalities: ['text'],
  output_modalities: ['text'],
  capabilities: ['tools'],
  tokenizer: 'o200k',
  targets: [{ upstream_id: 'acme', upstream_model: 'small-1' }],
  usd_per_mtok: { input: '1', cache_read: '0.1', cache_write_5m: '1.25', cache_write_1h: '2', output: '0.000000001' },
  sources: [{ address: 'https://acme.test/prices', date: '2026-11-20' }],
};

const file = (...models: unknown[]) => ({ about: 'A test.', models });

function faultsOf(seed: unknown): readonly string[] {
  try {
    parseSeed(seed);
    return [];
  } catch (error) {
    return (error as SeedError).faults;
  }
}

describe('a seed file', () => {
  it('becomes models and exact prices', () => {
    const [seed] = parseSeed(file(entry));
    expect(seed?.model).toMatchObject({
      id: 'acme/small',
      displayName: 'Acme Small',
      capabilities: [Capability.CAPABILITY_TOOLS],
      outputLimitTokens: 4000,
    });
    expect(seed?.price).toMatchObject({
      modelId: 'acme/small',
      inputNanoUsdPerMtok: 1_000_000_000n,
      cacheReadNanoUsdPerMtok: 100_000_000n,
      cacheWrite5mNanoUsdPerMtok: 1_250_000_000n,
      cacheWrite1hNanoUsdPerMtok: 2_000_000_000n,
      outputNanoUsdPerMtok: 1n,
    });
    expect(seed?.price.reasoningNanoUsdPerMtok).toBeUndefined();
  });

  it('has every fault reported, with its place', () => {
    const { display_name: _, ...nameless } = entry;
    const faults = faultsOf(
      file(
        { ...nameless, tokenizer: 'tiktoken' },
        { ...entry, id: 'acme/large', aliases: [], usd_per_mtok: { ...entry.usd_per_mtok, input: 1 } },
        { ...entry, id: 'acme/huge', aliases: [], output_limit_tokens: 64_000 },
      ),
    );
    expect(faults).toEqual([
      'file.models[0].display_name must be a text',
      'file.models[0].tokenizer must be of sandbox, o200k, anthropic',
      'file.models[1].usd_per_mtok.input must be a decimal USD amount as a string, such as "0.125"',
      'file.models[2].output_limit_tokens must not exceed context_limit_tokens',
    ]);
  });

  it('is refused with a misspelt field, and suggests the likely name', () => {
    const { reasoning: _, ...prices } = { ...entry.usd_per_mtok, reasoning: '1', cache_raed: '0.1' };
    expect(faultsOf(file({ ...entry, usd_per_mtok: prices }))).toEqual([
      'file.models[0].usd_per_mtok.cache_raed is not a known field; did you mean cache_read?',
    ]);
  });

  it('is refused with a negative price', () => {
    expect(faultsOf(file({ ...entry, usd_per_mtok: { ...entry.usd_per_mtok, output: '-1' } }))[0]).toContain('output_nano_usd_per_mtok');
  });

  it('is refused when two models share a name', () => {
    expect(faultsOf(file(entry, { ...entry, id: 'small', aliases: [] }))).toEqual([
      '"small" is used twice; ids and aliases share one name space',
    ]);
  });

  it.each([null, [], 'models', { about: 'x' }, file('acme/small')])('is refused when it is %j', (seed) => {
    expect(faultsOf(seed).length).toBeGreaterThan(0);
  });
});

describe('the seed file of this release', () => {
  const seed = parseSeed(seedFile);
  const vendors = seed.filter(({ model }) => model.provider !== 'tollgate');

  it('has the sandbox models for trying clients', () => {
    const sandbox = seed.filter(({ model }) => model.targets[0]?.upstreamId === 'sandbox').map(({ model }) => model);
    expect(sandbox.map(({ id }) => id)).toEqual(
      ['echo', 'story', 'tool', 'reason', 'fail-429', 'fail-500', 'drop', 'stall', 'embed'].map((name) => `sandbox/${name}`),
    );
    for (const model of sandbox) {
      expect(model.tokenizer).toBe(Tokenizer.TOKENIZER_SANDBOX);
      expect(`sandbox/${model.targets[0]?.upstreamModel}`).toBe(model.id);
    }
  });

  const generating = seed.filter(({ model }) => model.outputLimitTokens > 0);

  it('charges the input of models that return vectors, which have no output', () => {
    for (const { model, price } of seed.filter((entry) => !generating.includes(entry))) {
      expect(model.outputModalities).toEqual([Modality.MODALITY_EMBEDDING]);
      expect(price.inputNanoUsdPerMtok).toBeGreaterThan(0n);
    }
  });

  it.each(generating.map((entry) => [entry.model.id, entry.price] as const))(
    'charges something for every kind of token of %s',
    (_, price) => {
      expect(price.inputNanoUsdPerMtok).toBeGreaterThan(0n);
      expect(price.outputNanoUsdPerMtok).toBeGreaterThan(price.inputNanoUsdPerMtok);
      expect(price.cacheReadNanoUsdPerMtok).toBeGreaterThan(0n);
      expect(price.cacheReadNanoUsdPerMtok).toBeLessThan(price.inputNanoUsdPerMtok);
      expect(price.cacheWrite5mNanoUsdPerMtok).toBeGreaterThanOrEqual(price.inputNanoUsdPerMtok);
      expect(price.cacheWrite1hNanoUsdPerMtok).toBeGreaterThanOrEqual(price.cacheWrite5mNanoUsdPerMtok);
    },
  );

  it.each(vendors.map(({ model }) => [model.id, model] as const))('accepts the vendor’s own name for %s', (_, model) => {
    const { upstreamId, upstreamModel } = model.targets[0]!;
    expect(upstreamId).toBe(model.provider);
    expect(model.id.startsWith(`${upstreamId}/`)).toBe(true);
    expect(model.aliases).toContain(upstreamModel);
    expect(model.aliases).toContain(model.id.slice(upstreamId.length + 1));
  });

  it('states the maximum tokens per image for every model that reads images, and for no other', () => {
    for (const { model } of seed) {
      const reads = model.inputModalities.includes(Modality.MODALITY_IMAGE);
      expect([model.id, model.imageTokensMax > 0]).toEqual([model.id, reads]);
    }
  });

  it.each(vendors.filter((entry) => generating.includes(entry)).map(({ model }) => [model.id, model] as const))(
    'leaves room for a prompt next to the longest response of %s',
    (_, model) => {
      expect(model.contextLimitTokens - model.outputLimitTokens).toBeGreaterThanOrEqual(32_000);
    },
  );

  it.each(seedFile.models.filter(({ provider }) => provider !== 'tollgate').map((entry) => [entry.id, entry.sources] as const))(
    'says where the figures of %s are from',
    (_, sources) => {
      expect(sources.length).toBeGreaterThan(0);
      for (const source of sources) {
        expect(source.address).toMatch(/^https:\/\//);
        expect(source.date).toMatch(/^2026-\d\d-\d\d$/);
      }
    },
  );
});
