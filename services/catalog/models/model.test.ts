import { describe, expect, it } from '@jest/globals';
import { Capability, type DeepPartial, Modality, type Model, ModelState, Tokenizer } from '#proto/catalog/v1/catalog.js';
import { findByName, isModelName, modelFaults } from './model.js';
import { exampleModel } from '../testing/examples.js';

const target = { upstreamId: 'acme', upstreamModel: 'small-1' };

describe('a model', () => {
  it('is valid with only its required fields', () => {
    const model = exampleModel({
      description: '',
      provider: '',
      capabilities: [],
      aliases: [],
      contextLimitTokens: 1,
      outputLimitTokens: 1,
    });
    expect(modelFaults(model)).toEqual([]);
  });

  it.each<[string, DeepPartial<Model>]>([
    ['id', { id: '' }],
    ['id', { id: 'Acme/Small' }],
    ['id', { id: 'a'.repeat(129) }],
    ['display_name', { displayName: '  ' }],
    ['display_name', { displayName: 'a'.repeat(201) }],
    ['description', { description: 'a'.repeat(2001) }],
    ['provider', { provider: 'a'.repeat(101) }],
    ['context_limit_tokens', { contextLimitTokens: 100_000_001 }],
    ['output_limit_tokens', { outputLimitTokens: 0 }],
    ['output_limit_tokens', { contextLimitTokens: 1000, outputLimitTokens: 1001 }],
    ['input_modalities', { inputModalities: [] }],
    ['input_modalities', { inputModalities: [99 as Modality] }],
    ['output_modalities', { outputModalities: [Modality.MODALITY_TEXT, Modality.MODALITY_TEXT] }],
    ['capabilities', { capabilities: [Capability.CAPABILITY_UNSPECIFIED] }],
    ['targets', { targets: Array.from({ length: 17 }, () => target) }],
    ['targets[1].upstream_id', { targets: [target, { ...target, upstreamId: '' }] }],
    ['targets[0].upstream_model', { targets: [{ ...target, upstreamModel: '' }] }],
    ['targets[0].priority', { targets: [{ ...target, priority: 101 }] }],
    ['targets[0].weight', { targets: [{ ...target, weight: 0 }] }],
    ['targets[0].weight', { targets: [{ ...target, weight: 1001 }] }],
    ['image_tokens_max', { imageTokensMax: 1_000_001 }],
    ['image_tokens_max', { imageTokensMax: -1 }],
    ['hedge_after_ms', { hedgeAfterMs: 49 }],
    ['hedge_after_ms', { hedgeAfterMs: 600_001 }],
    ['tokenizer', { tokenizer: Tokenizer.TOKENIZER_UNSPECIFIED }],
    ['state', { state: ModelState.MODEL_STATE_UNSPECIFIED }],
    ['aliases', { aliases: Array.from({ length: 17 }, (_, index) => `alias-${index}`) }],
    ['aliases[0]', { aliases: ['not an alias'] }],
    ['aliases', { aliases: ['small', 'small'] }],
    ['aliases', { aliases: ['acme/small'] }],
  ])('has a fault in %s with %o', (field, fields) => {
    expect(modelFaults(exampleModel(fields)).map((fault) => fault.field)).toEqual([field]);
  });

  it('has all its faults reported', () => {
    expect(modelFaults(exampleModel({ id: '', displayName: '', targets: [{ upstreamId: '', upstreamModel: 'm' }] }))).toHaveLength(3);
  });
});

describe('a name', () => {
  it.each(['a', '4o', 'acme/small', 'acme/small-1.5:beta_2', 'a'.repeat(128)])('may be %s', (name) => {
    expect(isModelName(name)).toBe(true);
  });

  it.each(['', '/small', '-small', 'acme small', 'acme\nsmall', 'ácme', 'small\n'])('may not be %j', (name) => {
    expect(isModelName(name)).toBe(false);
  });

  it('finds a model by its id and by its aliases', () => {
    const models = [exampleModel({ id: 'acme/large', aliases: [] }), exampleModel()];
    expect(findByName(models, 'acme/small')?.id).toBe('acme/small');
    expect(findByName(models, 'small')?.id).toBe('acme/small');
    expect(findByName(models, 'large')).toBeUndefined();
  });
});
