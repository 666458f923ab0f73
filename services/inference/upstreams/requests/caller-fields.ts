// The request fields in addition to the published ones that each kind of upstream may receive. A field that is on no list could make the vendor do
// work that tokens do not pay for: searches, beams, more answers, a longer context. Pure.
import { completionCapField } from '#rules/wire/request-fields.js';
import type { ApiFormat, GenerateRequest } from '#proto/inference/v1/inference.js';
import type { UpstreamBody } from '../http/wire.js';
import { nativeFor } from './native.js';
import { type JsonObject, isObject } from '../answers/stream-decoder.js';

/** `any`: every value. `below_cap`: a number of tokens below the output cap. A map: an object with only these fields. */
type FieldRule = 'any' | 'below_cap' | FieldRules;
/** The fields that an object may have. */
export type FieldRules = ReadonlyMap<string, FieldRule>;

/** The fields of OpenAI's and Anthropic's own servers: all that they publish (their libraries' request types) have a rule in the gateway's schemas. */
export const publishedOnly: FieldRules = new Map();

const any = (...names: string[]): [string, FieldRule][] => names.map((name) => [name, 'any']);

/**
 * The fields that other servers of OpenAI's formats publish and that cost nothing but tokens: llama.cpp (tools/server/README.md), vLLM and
 * SGLang (ChatCompletionRequest), and hosted vendors. Left out on purpose: beams and further answers (`use_beam_search`, `best_of`), values of
 * unbounded size or work (`prompt_logprobs`, `n_probs`, `chat_template`), places in the server's queue or memory (`priority`, `id_slot`,
 * `keep_alive`), and searches.
 */
export const compatibleServers: FieldRules = new Map<string, FieldRule>([
  // Sampling.
  ...any('min_p', 'top_a', 'typical_p', 'tfs_z', 'top_n_sigma', 'repetition_penalty', 'repeat_penalty', 'repeat_last_n'),
  ...any('no_repeat_ngram_size', 'dry_multiplier', 'dry_base', 'dry_allowed_length', 'dry_penalty_last_n', 'dry_sequence_breakers'),
  ...any('xtc_probability', 'xtc_threshold', 'mirostat', 'mirostat_tau', 'mirostat_eta', 'dynatemp_range', 'dynatemp_exponent'),
  ...any('samplers', 'min_keep', 'random_seed', 'do_sample'),
  // Where an answer ends, and which tokens it may have. The output cap applies whatever their values.
  ...any('min_tokens', 'ignore_eos', 'stop_token_ids', 'bad_words', 'allowed_token_ids', 'skip_special_tokens'),
  ...any('spaces_between_special_tokens', 'include_stop_str_in_output', 'continue_final_message', 'add_generation_prompt'),
  // The form of an answer.
  ...any('grammar', 'json_schema', 'guided_json', 'guided_regex', 'guided_choice', 'guided_grammar', 'structured_outputs'),
  ...any('structural_tag', 'regex', 'ebnf', 'tool_stream', 'cache_prompt', 'timings_per_token', 'return_progress'),
  // Whether the model reasons, and how its reasoning is returned.
  ...any('enable_thinking', 'include_reasoning', 'reasoning_format', 'separate_reasoning', 'stream_reasoning', 'reasoning_split'),
  ['thinking_budget', 'below_cap'],
  ['thinking_budget_tokens', 'below_cap'],
  ['thinking_token_budget', 'below_cap'],
  ['thinking', new Map<string, FieldRule>([...any('type', 'display', 'clear_thinking'), ['budget_tokens', 'below_cap']])],
  [
    'reasoning',
    new Map<string, FieldRule>([...any('effort', 'enabled', 'exclude', 'summary', 'generate_summary'), ['max_tokens', 'below_cap']]),
  ],
  [
    'chat_template_kwargs',
    new Map<string, FieldRule>([
      ...any('enable_thinking', 'thinking', 'thinking_mode', 'reasoning_effort', 'preserve_thinking', 'clear_thinking', 'date_string'),
      ['thinking_budget', 'below_cap'],
    ]),
  ],
  ['usage', new Map(any('include'))],
]);

/** The fields that embedding servers other than OpenAI's publish: vLLM, and the vendors of models that distinguish queries from documents. */
export const embeddingServers: FieldRules = new Map<string, FieldRule>(
  any('input_type', 'task', 'prompt_name', 'truncate', 'truncation', 'truncate_prompt_tokens', 'add_special_tokens', 'normalize'),
);

/** Returns the rules with the operator's own fields, each a name or a path with dots, admitted with every value. */
export function withOperatorFields(rules: FieldRules, paths: readonly string[]): FieldRules {
  return paths.filter((path) => path !== completionCapField).reduce((extended, path) => withPath(extended, path.split('.')), rules);
}

function withPath(rules: FieldRules, [name = '', ...rest]: readonly string[]): FieldRules {
  const present = rules.get(name);
  if (rest.length === 0 || present === 'any') return new Map([...rules, [name, 'any']]);
  return new Map([...rules, [name, withPath(present instanceof Map ? present : new Map<string, FieldRule>(), rest)]]);
}

/**
 * Returns a body with those of the caller's other fields that the rules admit, if the caller uses this format; the rest is added to the dropped
 * fields. A request without such fields costs nothing.
 */
export function withCallerFields(body: UpstreamBody, request: GenerateRequest, format: ApiFormat, rules: FieldRules): UpstreamBody {
  const otherFieldsJson = nativeFor(request, format)?.otherFieldsJson ?? '';
  if (otherFieldsJson === '') return body;
  const dropped = [...body.dropped];
  const kept = admitObject(JSON.parse(otherFieldsJson) as JsonObject, rules, request.maxOutputTokens, '', dropped);
  // Our own fields come first, so the body is never empty.
  return { json: kept.length === 0 ? body.json : `${body.json.slice(0, -1)},${kept.join(',')}}`, dropped };
}

/** Returns the admitted fields as text: a field named `__proto__` would be lost if it were assigned to an object. */
function admitObject(value: JsonObject, rules: FieldRules, cap: number, prefix: string, dropped: string[]): string[] {
  return Object.entries(value).flatMap(([name, field]) => {
    const rule = rules.get(name);
    const path = `${prefix}${name}`;
    if (rule instanceof Map && isObject(field)) {
      const fields = admitObject(field, rule, cap, `${path}.`, dropped);
      return fields.length === 0 ? [] : [`${JSON.stringify(name)}:{${fields.join(',')}}`];
    }
    if (rule === 'any' || (rule === 'below_cap' && isCountBelow(field, cap))) return [`${JSON.stringify(name)}:${JSON.stringify(field)}`];
    if (field !== null && dropped.length < droppedMax && headerSafePath.test(path)) dropped.push(path);
    return [];
  });
}

// The names are returned in a header of the response, and the caller chooses them.
const droppedMax = 32;
const headerSafePath = /^[\w.:-]{1,128}$/;

function isCountBelow(value: unknown, cap: number): boolean {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) < cap;
}
