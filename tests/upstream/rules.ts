// What a vendor, or one of its models, knows and refuses beyond the rules that hold for all.

/** The particulars of one vendor's model. Absent: an older model of an OpenAI-compatible server, or one of Anthropic's that takes sampling. */
export interface VendorRules {
  /** Top-level request fields that this vendor knows in addition: what it has invented since. */
  readonly knownFields?: readonly string[];
  /** chat-completions: OpenAI's own servers, which know the role developer, and neither `reasoning_content` nor two caps. */
  readonly isOpenAi?: boolean;
  /** A model that reasons: OpenAI's take no `max_tokens` and no sampling; Anthropic's newer ones take only the default sampling. */
  readonly refusesSampling?: boolean;
  /** messages: newer models refuse a conversation that ends with the assistant. */
  readonly refusesPrefill?: boolean;
  /** messages: the kinds of thinking that the model knows; by default all. */
  readonly thinkingTypes?: readonly string[];
  /** Tools that say `strict` must have schemas that the vendor can enforce. */
  readonly enforcesStrictTools?: boolean;
  /** messages: thinking takes no forced tool, and with a budget no sampling. */
  readonly limitsThinking?: boolean;
  /** The most output tokens that may be asked for. */
  readonly outputTokensMax?: number;
}

/** What the stub's models refuse unless told otherwise: all that current models do. */
export const currentRules: VendorRules = { enforcesStrictTools: true, limitsThinking: true };
