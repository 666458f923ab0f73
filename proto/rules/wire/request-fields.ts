// The fields of requests that decide what a call costs and for whom, which neither clients nor the settings of an upstream may pass on. Pure.

/** Names that servers read as a vendor's state, another cap, more answers, or another model, server or account than the priced one. */
export const redirecting = [
  ...([
    'api_base',
    'api_key',
    'api_version',
    'base_url',
    'custom_llm_provider',
    'extra_body',
    'extra_headers',
    'headers',
    'model_list',
  ] as const),
  ...(['models', 'organization', 'preset', 'provider', 'route', 'user_config'] as const),
  // Several servers prefer these to the cap that we send (llama.cpp its n_predict), or generate more answers than the one that is charged.
  ...([
    'max_new_tokens',
    'max_output_tokens',
    'max_tokens_to_sample',
    'n_predict',
    'num_predict',
    'best_of',
    'n_cmpl',
    'num_return_sequences',
  ] as const),
  // These name state in the single account that the vendor sees.
  ...(['previous_response_id', 'conversation', 'conversation_id', 'thread_id', 'assistant_id'] as const),
] as const;

/** The fields that the gateway sets itself in every request. */
const setByGateway = [
  'model',
  'messages',
  'stream',
  'stream_options',
  'max_tokens',
  'max_completion_tokens',
  'n',
  'user',
  'safety_identifier',
];

const fixed: ReadonlySet<string> = new Set([...redirecting, ...setByGateway]);

/** Declares, among the fields that an operator allows, that a server takes the output cap under this name. Clients cannot set it: the gateway does. */
export const completionCapField = 'max_completion_tokens';

/** Reports whether an operator may allow clients to send the field of this path: names joined by dots, and none that changes the cap, the model or the account. */
export function isAllowableField(path: string): boolean {
  if (path === completionCapField) return true;
  // Servers read the same names inside other objects, too: Ollama the cap in `options`, for example.
  return path.split('.').every((name) => /^[A-Za-z0-9_:-]+$/.test(name) && name !== '__proto__' && !fixed.has(name.toLowerCase()));
}
