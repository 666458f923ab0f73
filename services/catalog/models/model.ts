// The rules for a valid model. Pure.
import { fault } from '#client/errors/fault.js';
import type { AppError } from '#client/errors/app-error.js';
import { Capability, Modality, type Model, ModelState, type Target, Tokenizer } from '#proto/catalog/v1/catalog.js';
import type { FieldParams } from '#client/errors/fault.js';
import type { FieldRule } from '#rules/errors/error-sentences.js';
import { type Fault, faultOf } from '../fault.js';

/** Maximum number of models in a catalog: every listing and snapshot contains all of them. */
export const modelsMax = 2000;

const nameCharsMax = 128;
const displayNameCharsMax = 200;
const descriptionCharsMax = 2000;
const providerCharsMax = 100;
const upstreamIdCharsMax = 64;
const upstreamModelCharsMax = 200;
const targetsMax = 16;
const priorityMax = 100;
const weightMax = 1000;
const aliasesMax = 16;
const limitTokensMax = 100_000_000;
const imageTokensMaxMax = 1_000_000;
const hedgeAfterMs = { min: 50, max: 600_000 };

/** Returns everything wrong with a model, in the order of its fields; empty when it is valid. `price` and `created_at_ms` are not checked. */
export function modelFaults(model: Model): Fault[] {
  const faults: Fault[] = [];
  const expect = <R extends FieldRule>(holds: boolean, field: string, rule: R, ...params: FieldParams<R>): void => {
    if (!holds) faults.push(faultOf(field, rule, ...params));
  };

  expect(isModelName(model.id), 'id', 'model_name', { max: nameCharsMax });
  expect(isFilled(model.displayName, displayNameCharsMax), 'display_name', 'length', { min: 1, max: displayNameCharsMax });
  expect(model.description.length <= descriptionCharsMax, 'description', 'max_length', { max: descriptionCharsMax });
  expect(model.provider.length <= providerCharsMax, 'provider', 'max_length', { max: providerCharsMax });
  expect(isLimit(model.contextLimitTokens), 'context_limit_tokens', 'range', { min: 1, max: limitTokensMax });
  const embeds = model.outputModalities.includes(Modality.MODALITY_EMBEDDING);
  const isUnneeded = embeds && model.outputLimitTokens === 0;
  expect(isLimit(model.outputLimitTokens) || isUnneeded, 'output_limit_tokens', 'range', { min: 1, max: limitTokensMax });
  expect(model.outputLimitTokens <= model.contextLimitTokens, 'output_limit_tokens', 'at_most_field', { other: 'context_limit_tokens' });
  expect(isSetOf(knownModalities, model.inputModalities, 1), 'input_modalities', 'some_distinct_known');
  expect(isSetOf(knownModalities, model.outputModalities, 1), 'output_modalities', 'some_distinct_known');
  expect(!model.inputModalities.includes(Modality.MODALITY_EMBEDDING), 'input_modalities', 'no_embedding');
  expect(!embeds || model.outputModalities.length === 1, 'output_modalities', 'embedding_alone');
  expect(isSetOf(knownCapabilities, model.capabilities, 0), 'capabilities', 'distinct_known');
  // A model without targets is a product of an internal service, which calls no upstream.
  expect(model.targets.length <= targetsMax, 'targets', 'max_items', { max: targetsMax });
  faults.push(...model.targets.slice(0, targetsMax).flatMap(targetFaults));
  expect(
    Number.isInteger(model.imageTokensMax) && model.imageTokensMax >= 0 && model.imageTokensMax <= imageTokensMaxMax,
    'image_tokens_max',
    'range_or_zero',
    { min: 1, max: imageTokensMaxMax },
  );
  const { hedgeAfterMs: afterMs = hedgeAfterMs.min } = model;
  expect(afterMs >= hedgeAfterMs.min && afterMs <= hedgeAfterMs.max, 'hedge_after_ms', 'range', hedgeAfterMs);
  expect(knownTokenizers.has(model.tokenizer), 'tokenizer', 'known');
  expect(knownStates.has(model.state), 'state', 'known');
  expect(model.aliases.length <= aliasesMax, 'aliases', 'max_items', { max: aliasesMax });
  model.aliases
    .slice(0, aliasesMax)
    .forEach((alias, index) => expect(isModelName(alias), `aliases[${index}]`, 'model_name', { max: nameCharsMax }));
  expect(new Set([model.id, ...model.aliases]).size === model.aliases.length + 1, 'aliases', 'distinct_aliases');
  return faults;
}

/** Reports whether a text can be an id or an alias of a model. */
export function isModelName(text: string): boolean {
  return text.length <= nameCharsMax && /^[a-z0-9][a-z0-9._:/-]*$/.test(text);
}

/** Returns the model that has this id or alias. Ids and aliases share one namespace, so there is at most one. */
export function findByName(models: readonly Model[], name: string): Model | undefined {
  return models.find(({ id, aliases }) => id === name || aliases.includes(name));
}

/** Returns the stored model that has this id or alias. Raises model_unknown. */
export function modelNamed(stored: readonly { readonly model: Model }[], name: string): Model {
  const model = findByName(
    stored.map((each) => each.model),
    name,
  );
  if (model === undefined) throw unknownModel(name);
  return model;
}

/** Returns the error for a name that no model has. */
export function unknownModel(name: string): AppError {
  return fault('no_model_named', { name: name.slice(0, nameCharsMax) });
}

const known = (...values: number[]): ReadonlySet<number> => new Set(values);
const knownModalities = known(
  Modality.MODALITY_TEXT,
  Modality.MODALITY_IMAGE,
  Modality.MODALITY_DOCUMENT,
  Modality.MODALITY_AUDIO,
  Modality.MODALITY_EMBEDDING,
);
const knownCapabilities = known(
  Capability.CAPABILITY_TOOLS,
  Capability.CAPABILITY_REASONING,
  Capability.CAPABILITY_STRUCTURED_OUTPUT,
  Capability.CAPABILITY_PROMPT_CACHE,
  Capability.CAPABILITY_SAMPLING,
);
const knownTokenizers = known(Tokenizer.TOKENIZER_SANDBOX, Tokenizer.TOKENIZER_O200K, Tokenizer.TOKENIZER_ANTHROPIC);
const knownStates = known(ModelState.MODEL_STATE_ACTIVE, ModelState.MODEL_STATE_DEPRECATED, ModelState.MODEL_STATE_RETIRED);

function isFilled(text: string, charsMax: number): boolean {
  return text.trim() !== '' && text.length <= charsMax;
}

function isLimit(tokens: number): boolean {
  return Number.isInteger(tokens) && tokens >= 1 && tokens <= limitTokensMax;
}

function isSetOf(allowed: ReadonlySet<number>, values: readonly number[], countMin: number): boolean {
  return values.length >= countMin && new Set(values).size === values.length && values.every((value) => allowed.has(value));
}

function targetFaults(target: Target, index: number): Fault[] {
  const faults: Fault[] = [];
  if (!isFilled(target.upstreamId, upstreamIdCharsMax)) {
    faults.push(faultOf(`targets[${index}].upstream_id`, 'length', { min: 1, max: upstreamIdCharsMax }));
  }
  if (!isFilled(target.upstreamModel, upstreamModelCharsMax)) {
    faults.push(faultOf(`targets[${index}].upstream_model`, 'length', { min: 1, max: upstreamModelCharsMax }));
  }
  const { priority = 0, weight = 1 } = target;
  if (priority > priorityMax) faults.push(faultOf(`targets[${index}].priority`, 'range', { min: 0, max: priorityMax }));
  if (weight < 1 || weight > weightMax) faults.push(faultOf(`targets[${index}].weight`, 'range', { min: 1, max: weightMax }));
  return faults;
}
