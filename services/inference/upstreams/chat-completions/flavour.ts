// The differences between chat-completions servers that matter for a request. Pure.
import { completionCapField } from '#rules/wire/request-fields.js';

/** Describes how an upstream differs from the common form. */
export interface ChatCompletionsFlavour {
  /** OpenAI's own servers: they reject `max_tokens` for reasoning models, and any field they do not know. */
  readonly isOpenAi: boolean;
  /** Whether the server rejects fields of messages that it does not know, as OpenAI's own do. Absent: it ignores them. */
  readonly isStrict?: boolean;
  /** Mistral's own servers, which reject `stream_options`, `user` and ids of tool calls unlike theirs, and report the usage in every stream. */
  readonly isMistral?: boolean;
  /** Google's own servers, whose models since Gemini 3 reject a tool call in the history without the signature that they gave it. */
  readonly isGoogle?: boolean;
  /** DeepSeek's and Moonshot's own servers, whose thinking models reject a past answer without reasoning, or with an empty one. */
  readonly needsReasoning?: boolean;
  /** The models that accept a reasoning effort, where the server rejects it for others. Absent: any, or OpenAI's. */
  readonly effortModels?: RegExp | undefined;
  /** Whether the server has custom tools. Absent: it has none. */
  readonly takesCustomTools?: boolean;
  /** Whether the operator says that the server takes `max_completion_tokens`, as OpenAI's own do. */
  readonly takesCompletionCap?: boolean;
}

/** Returns the flavour of the server behind a base_url, whose operator allows these fields. */
export function flavourOf(baseUrl: string, allowedFields: readonly string[] = []): ChatCompletionsFlavour {
  const { hostname } = new URL(baseUrl);
  const isOpenAi = /(^|\.)openai\.(com|azure\.com)$/.test(hostname);
  const isMistral = /(^|\.)mistral\.ai$/.test(hostname);
  const isStrict = isOpenAi || isMistral || /(^|\.)(cerebras\.ai|groq\.com)$/.test(hostname);
  return {
    isOpenAi,
    isStrict,
    isMistral,
    isGoogle: hostname.endsWith('.googleapis.com'),
    needsReasoning: /(^|\.)(deepseek\.com|moonshot\.(ai|cn)|kimi\.com)$/.test(hostname),
    effortModels: effortModels.find(([host]) => host.test(hostname))?.[1],
    takesCustomTools: isOpenAi || allowedFields.includes('tools.custom'),
    takesCompletionCap: allowedFields.includes(completionCapField),
  };
}

// Of Mistral's models, few accept an effort, and only "high"; of Groq's, Qwen accepts only "default".
const effortModels: readonly (readonly [RegExp, RegExp])[] = [
  [/(^|\.)groq\.com$/, /gpt-oss/],
  [/(^|\.)mistral\.ai$/, /(?!)/],
  [/(^|\.)x\.ai$/, /grok-(3-mini|4\.20-multi-agent|4\.[3-9](?!\d)|[5-9])/],
];

/** Reports whether the server takes reasoning and other extensions of the history. */
export function takesExtensions({ isOpenAi, isStrict }: ChatCompletionsFlavour): boolean {
  return !isOpenAi && isStrict !== true;
}

/** Reports whether a request for this model may mark cache breakpoints in its prompt: OpenAI's models from gpt-5.6 on. */
export function takesCacheBreakpoints(flavour: ChatCompletionsFlavour, model: string): boolean {
  const version = /^gpt-(\d+)(?:\.(\d+))?(?![\d.])/.exec(model);
  if (!flavour.isOpenAi || version === null) return false;
  const [major, minor] = [Number(version[1]), Number(version[2] ?? 0)];
  return major > 5 || (major === 5 && minor >= 6);
}

// OpenAI's models that are known to reason; an Azure deployment may have any name.
const reasoningModels = /^(o\d|gpt-([5-9]|\d\d))(?!.*chat)/;
const plainModels = /^(ft:)?(gpt-[34]|chatgpt|gpt-.*chat)/;

/** Reports whether the model answers temperature, top_p and penalties with 400: OpenAI's reasoning models, while they reason. */
export function refusesSampling({ isOpenAi }: ChatCompletionsFlavour, model: string, effort: string | undefined): boolean {
  return isOpenAi && effort !== 'none' && reasoningModels.test(model);
}

/** Reports whether the model answers a reasoning effort with 400: OpenAI's models that do not reason, and many at some other servers. */
export function refusesEffort({ isOpenAi, effortModels: accepting }: ChatCompletionsFlavour, model: string): boolean {
  return isOpenAi ? plainModels.test(model) : accepting !== undefined && !accepting.test(model);
}

/**
 * Reports whether the model is known to accept other verbosities than medium: OpenAI's from gpt-5 on. gpt-5-chat-latest and gpt-5.2-codex answer them with 400
 * (github.com/enricoros/big-AGI/issues/930, github.com/openai/codex/issues/19188).
 */
export function takesVerbosity({ isOpenAi }: ChatCompletionsFlavour, model: string): boolean {
  return isOpenAi && /^gpt-([5-9]|\d\d)(?!.*(chat|codex))/.test(model);
}

/**
 * Returns the field of the output cap. Many servers know only the older one, which OpenAI's reasoning models reject, also behind another host such as a
 * proxy.
 */
export function capField({ isOpenAi, takesCompletionCap }: ChatCompletionsFlavour, model: string): 'max_completion_tokens' | 'max_tokens' {
  return isOpenAi || takesCompletionCap === true || reasoningModels.test(model) ? 'max_completion_tokens' : 'max_tokens';
}

/** Reports whether the model is known to reason: one of OpenAI's reasoning models. */
export function reasons({ isOpenAi }: ChatCompletionsFlavour, model: string): boolean {
  return isOpenAi && reasoningModels.test(model);
}
