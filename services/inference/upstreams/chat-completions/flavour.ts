// How chat-completions servers depart from each other, as far as a request must know. Pure.

/** How an upstream departs from the common form. */
export interface ChatCompletionsFlavour {
  /** OpenAI's own servers: they refuse `max_tokens` for reasoning models, and any field they do not know. */
  readonly isOpenAi: boolean;
}

/** The flavour of the server behind a base_url. */
export function flavourOf(baseUrl: string): ChatCompletionsFlavour {
  return { isOpenAi: /(^|\.)openai\.(com|azure\.com)$/.test(new URL(baseUrl).hostname) };
}

/** Whether a request for this model may mark where its prompt shall be cached: OpenAI's models from gpt-5.6 on. */
export function takesCacheBreakpoints(flavour: ChatCompletionsFlavour, model: string): boolean {
  const version = /^gpt-(\d+)(?:\.(\d+))?(?![\d.])/.exec(model);
  if (!flavour.isOpenAi || version === null) return false;
  const [major, minor] = [Number(version[1]), Number(version[2] ?? 0)];
  return major > 5 || (major === 5 && minor >= 6);
}

// Of OpenAI's models, those of which it is known; an Azure deployment may be named anything.
const reasoningModels = /^(o\d|gpt-([5-9]|\d\d))(?!.*chat)/;
const plainModels = /^(ft:)?(gpt-[34]|chatgpt|gpt-.*chat)/;

/** Whether the model answers temperature, top_p and penalties with 400: OpenAI's reasoning models, while they reason. */
export function refusesSampling({ isOpenAi }: ChatCompletionsFlavour, model: string, effort: string | undefined): boolean {
  return isOpenAi && effort !== 'none' && reasoningModels.test(model);
}

/** Whether the model answers a reasoning effort with 400: OpenAI's models that do not reason. */
export function refusesEffort({ isOpenAi }: ChatCompletionsFlavour, model: string): boolean {
  return isOpenAi && plainModels.test(model);
}
