// What a vendor or one of its models supports and rejects, in addition to the rules that apply to all.

/** The rules of a vendor's model. By default, an older model of an OpenAI-compatible server, or one of Anthropic's that accepts sampling. */
export interface VendorRules {
  /** Additional top-level request fields that this vendor supports, for example new ones. */
  readonly knownFields?: readonly string[];
  /** chat-completions: OpenAI's own servers, which accept the role developer, but neither `reasoning_content` nor two caps. */
  readonly isOpenAi?: boolean;
  /** A reasoning model: OpenAI's accept neither `max_tokens` nor sampling; Anthropic's newer ones accept only the default sampling. */
  readonly refusesSampling?: boolean;
  /** messages: newer models reject a conversation that ends with an assistant message. */
  readonly refusesPrefill?: boolean;
  /** messages: the kinds of thinking that the model supports; by default all. */
  readonly thinkingTypes?: readonly string[];
  /** Tools with `strict` must have schemas that the vendor can enforce. */
  readonly enforcesStrictTools?: boolean;
  /** messages: thinking excludes forced tools and, with a budget, sampling. */
  readonly limitsThinking?: boolean;
  /** The maximum number of output tokens that may be requested. */
  readonly outputTokensMax?: number;
}

/** The default rules of the stub's models, which are those of current models. */
export const currentRules: VendorRules = { enforcesStrictTools: true, limitsThinking: true };
