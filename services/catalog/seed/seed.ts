// Reads the seed file: converts human-editable text to models and prices, with every fault reported. Pure.
import { Capability, Modality, Model, ModelState, PriceVersion, Tokenizer } from '#proto/catalog/v1/catalog.js';
import { messageOf } from '../fault.js';
import { modelFaults } from '../models/model.js';
import { priceFaults } from '../prices/price.js';
import { SeedReader } from './seed-reader.js';

/** Holds a model of the seed file with its initial price. */
export interface SeedModel {
  readonly model: Model;
  /** Has no id, start or creation time: they are set when it is stored. */
  readonly price: PriceVersion;
}

/** Reports all faults of a seed file, one per line of its message. */
export class SeedError extends Error {
  override readonly name = 'SeedError';

  constructor(readonly faults: readonly string[]) {
    super(
      `The seed file has ${faults.length === 1 ? 'a fault' : `${faults.length} faults`}:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`,
    );
  }
}

/** Returns the models of a seed file that was parsed as JSON, in its order. Raises SeedError with every fault. */
export function parseSeed(file: unknown): SeedModel[] {
  const faults: string[] = [];
  const reader = new SeedReader(file, 'file', faults);
  reader.text('about');
  const seed = reader.objects('models').map(readSeedModel);
  reader.end();
  const names = seed.flatMap(({ model }) => [model.id, ...model.aliases]);
  const repeated = new Set(names.filter((name, index) => names.indexOf(name) !== index));
  faults.push(...[...repeated].map((name) => `"${name}" is used twice; ids and aliases share one name space`));
  if (faults.length > 0) throw new SeedError(faults);
  return seed;
}

const modalities = {
  text: Modality.MODALITY_TEXT,
  image: Modality.MODALITY_IMAGE,
  document: Modality.MODALITY_DOCUMENT,
  audio: Modality.MODALITY_AUDIO,
  embedding: Modality.MODALITY_EMBEDDING,
};
const capabilities = {
  tools: Capability.CAPABILITY_TOOLS,
  reasoning: Capability.CAPABILITY_REASONING,
  structured_output: Capability.CAPABILITY_STRUCTURED_OUTPUT,
  prompt_cache: Capability.CAPABILITY_PROMPT_CACHE,
  sampling: Capability.CAPABILITY_SAMPLING,
};
const tokenizers = {
  sandbox: Tokenizer.TOKENIZER_SANDBOX,
  o200k: Tokenizer.TOKENIZER_O200K,
  anthropic: Tokenizer.TOKENIZER_ANTHROPIC,
};
const states = {
  active: ModelState.MODEL_STATE_ACTIVE,
  deprecated: ModelState.MODEL_STATE_DEPRECATED,
  retired: ModelState.MODEL_STATE_RETIRED,
};

function readSeedModel(reader: SeedReader): SeedModel {
  const faultsBefore = reader.faults.length;
  const model = readModel(reader);
  const price = readPrice(reader.object('usd_per_mtok'), model.id);
  skimProvenance(reader);
  reader.end();
  // A value of the wrong type was read as an empty one; checking its bounds would only report it a second time.
  if (reader.faults.length === faultsBefore) {
    for (const fault of modelFaults(model)) reader.fault(fault.field, messageOf(fault));
    for (const fault of priceFaults(price)) reader.fault(`usd_per_mtok (${fault.field})`, messageOf(fault));
  }
  return { model, price };
}

function readModel(reader: SeedReader): Model {
  return Model.fromPartial({
    id: reader.text('id'),
    aliases: reader.texts('aliases'),
    displayName: reader.text('display_name'),
    description: reader.text('description'),
    provider: reader.text('provider'),
    state: reader.word('state', states),
    contextLimitTokens: reader.number('context_limit_tokens'),
    outputLimitTokens: reader.number('output_limit_tokens'),
    inputModalities: reader.words('input_modalities', modalities),
    outputModalities: reader.words('output_modalities', modalities),
    capabilities: reader.words('capabilities', capabilities),
    imageTokensMax: reader.has('image_tokens_max') ? reader.number('image_tokens_max') : 0,
    tokenizer: reader.word('tokenizer', tokenizers),
    // Stored models always have it, so that one without it would differ at every start.
    prefixAffinity: true,
    targets: reader.objects('targets').map((target) => {
      const read = { upstreamId: target.text('upstream_id'), upstreamModel: target.text('upstream_model') };
      target.end();
      return read;
    }),
  });
}

function readPrice(reader: SeedReader, modelId: string): PriceVersion {
  const price = PriceVersion.fromPartial({
    modelId,
    inputNanoUsdPerMtok: reader.money('input'),
    cacheReadNanoUsdPerMtok: reader.money('cache_read'),
    cacheWrite5mNanoUsdPerMtok: reader.money('cache_write_5m'),
    cacheWrite1hNanoUsdPerMtok: reader.money('cache_write_1h'),
    outputNanoUsdPerMtok: reader.money('output'),
    reasoningNanoUsdPerMtok: reader.has('reasoning') ? reader.money('reasoning') : undefined,
  });
  reader.end();
  return price;
}

/** Reads the sources of the figures and the remarks about them, which are for human readers; only their types are checked. */
function skimProvenance(reader: SeedReader): void {
  for (const source of reader.objects('sources')) {
    source.text('address');
    source.text('date');
    source.end();
  }
  if (reader.has('note')) reader.text('note');
}
