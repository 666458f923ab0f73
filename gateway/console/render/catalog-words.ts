// The words by which the console's API calls values of the catalog's and inference's enums: those of the operator's command. Pure.
import { TokenClass } from '#proto/inference/v1/tokens.js';
import { Capability, Modality, ModelState, PriceWarning_Kind, Tokenizer } from '#proto/catalog/v1/catalog.js';
import { TestResult, ApiFormat } from '#proto/inference/v1/inference.js';

/** The words of one enum. */
export interface EnumWords<E extends number> {
  readonly all: string[];
  /** "unknown" for a value that this version does not know. */
  of(value: E): string;
  /** The value of a word of `all`. */
  value(word: string): E;
}

function wordsOf<E extends number>(generated: Readonly<Record<string, string | number>>, prefix: string): EnumWords<E> {
  const values = new Map<string, E>();
  for (const [name, value] of Object.entries(generated)) {
    if (typeof value === 'number' && value > 0) values.set(name.slice(prefix.length).toLowerCase(), value as E);
  }
  const all = [...values.keys()];
  return { all, of: (value) => all.find((word) => values.get(word) === value) ?? 'unknown', value: (word) => values.get(word)! };
}

/** By what they are the words of. */
export const words = {
  modality: wordsOf<Modality>(Modality, 'MODALITY_'),
  capability: wordsOf<Capability>(Capability, 'CAPABILITY_'),
  state: wordsOf<ModelState>(ModelState, 'MODEL_STATE_'),
  tokenizer: wordsOf<Tokenizer>(Tokenizer, 'TOKENIZER_'),
  tokenClass: wordsOf<TokenClass>(TokenClass, 'TOKEN_CLASS_'),
  warning: wordsOf<PriceWarning_Kind>(PriceWarning_Kind, 'KIND_'),
  apiFormat: wordsOf<ApiFormat>(ApiFormat, 'API_FORMAT_'),
  outcome: wordsOf<TestResult>(TestResult, 'TEST_RESULT_'),
};
