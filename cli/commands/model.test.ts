import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Capability, Modality, Model, ModelState, PriceVersion, Tokenizer } from '#proto/catalog/v1/catalog.js';
import { type FakeGateway, startFakeGateway, testNowMs } from '../testing/fake-gateway.js';
import { tollgate, tollgateJson } from '../testing/tollgate.js';

let gateway: FakeGateway;

beforeEach(async () => {
  gateway = await startFakeGateway();
});

afterEach(() => gateway.stop());

describe('models', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'tollgate-cli-'));
    gateway.state.models.push(
      Model.fromPartial({
        id: 'acme/one',
        displayName: 'One',
        contextLimitTokens: 1000,
        outputLimitTokens: 100,
        inputModalities: [Modality.MODALITY_TEXT, Modality.MODALITY_IMAGE],
        imageTokensMax: 1600,
        prefixAffinity: true,
        hedgeAfterMs: 800,
        outputModalities: [Modality.MODALITY_TEXT],
        capabilities: [Capability.CAPABILITY_TOOLS, Capability.CAPABILITY_PROMPT_CACHE],
        tokenizer: Tokenizer.TOKENIZER_O200K,
        state: ModelState.MODEL_STATE_DEPRECATED,
        targets: [{ upstreamId: 'acme', upstreamModel: 'one', priority: 0, weight: 3 }],
        aliases: ['one'],
        price: PriceVersion.fromPartial({ id: 'price_1', inputNanoUsdPerMtok: 1n }),
      }),
    );
  });

  afterEach(() => rmSync(folder, { recursive: true }));

  it('write a model as JSON that `model put` accepts unchanged', async () => {
    const before = Model.encode({ ...gateway.state.models[0]!, createdAtMs: 0n }).finish();
    const file = join(folder, 'model.json');
    writeFileSync(file, (await tollgate(gateway, ['model', 'show', 'acme/one', '--json'])).stdout);
    expect((await tollgate(gateway, ['model', 'put', file])).code).toBe(0);
    expect(Model.encode({ ...gateway.state.models[0]!, createdAtMs: 0n }).finish()).toEqual(before);
    await tollgate(gateway, ['model', 'retire', 'acme/one']);
    expect(gateway.state.models[0]).toMatchObject({ state: ModelState.MODEL_STATE_RETIRED, displayName: 'One' });
  });

  it('are the same as in an export, whether they are paused or not', async () => {
    const [model] = gateway.state.models as [Model];
    model.pause = { sinceMs: 1n, untilMs: 0n, reason: 'Maintenance.' };
    model.prefixAffinity = undefined;
    const stdin = (await tollgate(gateway, ['model', 'export'])).stdout;
    expect(await tollgateJson(gateway, ['model', 'import', '-', '--dry-run'], { stdin })).toEqual([
      { id: 'acme/one', fields: 'same', price: 'same' },
    ]);
  });

  it('show until when and why they are paused', async () => {
    const [model] = gateway.state.models as [Model];
    const shown = async (pause: Model['pause']): Promise<string> => {
      model.pause = pause;
      return (await tollgate(gateway, ['model', 'show', 'acme/one'])).stdout;
    };
    expect(await shown({ sinceMs: 1n, untilMs: BigInt(testNowMs + 123), reason: 'Maintenance' })).toMatch(
      /^paused +until 2027-01-15 08:00:00Z: Maintenance$/m,
    );
    expect(await shown({ sinceMs: 1n, untilMs: 0n, reason: '' })).toMatch(/^paused +until resumed$/m);
  });

  it('name every fault of a model file', async () => {
    const stdin = JSON.stringify({
      id: 'x',
      display_name: 'X',
      context_limit_tokens: 'many',
      output_limit_tokens: 1,
      targets: [],
      alias: [],
    });
    const { code, stderr } = await tollgate(gateway, ['model', 'put', '-'], { stdin });
    expect(code).toBe(2);
    expect(stderr).toMatch(/has no field "alias" \(did you mean "aliases"\?\).*context_limit_tokens must be integer/s);
  });

  it('publish prices in USD per million tokens, also below `model`', async () => {
    const [price] = await tollgateJson(gateway, [
      'price',
      'publish',
      'acme/one',
      '--input',
      '2.5',
      '--output',
      '10',
      '--cache-read',
      '0.25',
    ]);
    expect(price).toMatchObject({
      input_nano_usd_per_mtok: '2500000000',
      cache_read_usd_per_mtok: '0.25',
      cache_write_5m_usd_per_mtok: '2.5',
      reasoning_usd_per_mtok: null,
    });
    expect(await tollgateJson(gateway, ['model', 'price', 'publish', 'acme/one', '--input', '0', '--output', '0.1'])).toMatchObject([
      { output_usd_per_mtok: '0.1' },
    ]);
    expect(await tollgate(gateway, ['price', 'publish', 'acme/one'])).toMatchObject({
      code: 2,
      stderr:
        'error: The prices of input and output are required.\n' +
        'Specify --input <usd> and --output <usd>, or publish the draft with the command that `price diff acme/one` prints.\n',
    });
  });

  it('publish prices of units that are not tokens, each with the most that one call can use', async () => {
    const figures = ['price', 'publish', 'acme/one', '--input', '1', '--output', '1'];
    const [price] = await tollgateJson(gateway, [...figures, '--unit', 'request=0.001', '--unit', 'web_search=0.01,max=5']);
    expect(price!['units']).toEqual([
      { unit: 'request', price_usd: '0.001', price_nano_usd: '1000000', max_per_call: 1 },
      { unit: 'web_search', price_usd: '0.01', price_nano_usd: '10000000', max_per_call: 5 },
    ]);
    for (const bad of ['web_search', 'Search=1', 'input=1', 'web_search=x']) {
      const { code, stderr } = await tollgate(gateway, [...figures, '--unit', bad]);
      expect([code, stderr]).toEqual([2, expect.stringContaining('--unit')]);
    }
  });

  describe('are imported from the list of an upstream', () => {
    beforeEach(() => {
      gateway.state.listedModels = [
        { name: '/models/Qwen3 8B-Q4.gguf', contextTokens: 40_960, outputTokens: undefined },
        { name: 'one', contextTokens: 1000, outputTokens: 100 },
      ];
    });
    const importing = (...options: string[]) => tollgateJson(gateway, ['model', 'import', '--from-upstream', 'acme', ...options]);

    it('with the given price, except for those that the catalog has', async () => {
      expect(await importing('--input', '0.1', '--output', '0.4', '--capabilities', 'tools,sampling')).toEqual([
        { id: 'acme/qwen3-8b-q4', fields: 'new', price: 'published' },
        { id: 'acme/one', fields: 'kept', price: 'none' },
      ]);
      expect(gateway.state.models.find(({ id }) => id === 'acme/qwen3-8b-q4')).toMatchObject({
        contextLimitTokens: 40_960,
        outputLimitTokens: 40_960,
        capabilities: [Capability.CAPABILITY_TOOLS, Capability.CAPABILITY_SAMPLING],
        targets: [{ upstreamId: 'acme', upstreamModel: '/models/Qwen3 8B-Q4.gguf' }],
      });
      expect(await importing('--free')).toMatchObject([{ fields: 'kept' }, { fields: 'kept' }]);
    });

    it('with a price also if an earlier import ended before it published the price', async () => {
      await importing('--input', '0.1', '--output', '0.4');
      const model = gateway.state.models.find(({ id }) => id === 'acme/qwen3-8b-q4')!;
      const [priced] = await importing('--input', '0.1', '--output', '0.4');
      expect(priced).toEqual({ id: 'acme/qwen3-8b-q4', fields: 'kept', price: 'none' });
      model.price = undefined;
      for (const isDry of [true, false]) {
        const [finished] = await importing('--input', '0.1', '--output', '0.4', ...(isDry ? ['--dry-run'] : []));
        expect(finished).toEqual({ id: 'acme/qwen3-8b-q4', fields: 'kept', price: 'published' });
        expect(model.price === undefined).toBe(isDry);
      }
    });

    it('but not two under the same id', async () => {
      gateway.state.listedModels.push({ name: '/old/qwen3-8b-q4.gguf', contextTokens: 40_960, outputTokens: undefined });
      const { code, stderr } = await tollgate(gateway, ['model', 'import', '--from-upstream', 'acme', '--free']);
      expect([code, stderr]).toEqual([
        2,
        expect.stringContaining('"/models/Qwen3 8B-Q4.gguf" and "/old/qwen3-8b-q4.gguf" would both have'),
      ]);
      expect(gateway.state.models).toHaveLength(1);
      expect(await importing('--free', '--models', 'one,/old/qwen3-8b-q4.gguf')).toMatchObject([{ fields: 'kept' }, { fields: 'new' }]);
    });

    it('and never without a price or --free, nor without a context', async () => {
      const refused = async (...options: string[]) =>
        (await tollgate(gateway, ['model', 'import', '--from-upstream', 'acme', ...options])).stderr;
      expect(await refused()).toContain('Specify --input <usd> and --output <usd>, or --free.');
      expect(await refused('--free', '--input', '1')).toContain('--free cannot be combined');
      gateway.state.listedModels[0]!.contextTokens = undefined;
      expect(await refused('--free')).toContain('Use --context');
      expect(await refused('--free', '--models', 'three')).toContain('no model "three"');
      expect(gateway.state.models).toHaveLength(1);
      expect(await importing('--free', '--context', '8192', '--embeddings', '--dry-run')).toMatchObject([
        { fields: 'new' },
        { fields: 'kept' },
      ]);
      expect(gateway.state.models).toHaveLength(1);
    });
  });
});
