// What the limits of a call are: of its key, its account, and the model within its account, each set by a user or by default. Pure.
import type { AccountRateLimits, Key, RateLimits } from '#proto/auth/v1/auth.js';

/** What a limit is about. */
export type Scope = 'key' | 'account' | 'account_model';

/** A key, an account or a model within an account whose use is limited. Undefined: without that limit. */
export interface Subject {
  readonly scope: Scope;
  /** Names the subject among all of its kind. */
  readonly id: string;
  /** Of the scope and the id: 64 bits, so that two subjects never share one in practice. */
  readonly hash: readonly [number, number];
  readonly requests: number | undefined;
  readonly tokens: number | undefined;
  readonly concurrent: number | undefined;
}

/** What a call counts as, apart from being one request. */
export interface Demand {
  /** The estimated input. */
  readonly tokens: number;
}

/** What a subject has used of its limits. */
export interface Figures {
  readonly subject: Subject;
  readonly requests: number;
  readonly tokens: number;
  readonly inFlight: number;
  /** The time until nothing counts any more. */
  readonly requestsResetMs: number;
  readonly tokensResetMs: number;
}

/** A limit that refuses a call. */
export interface Refusal {
  readonly figures: Figures;
  readonly limit: 'requests' | 'tokens' | 'concurrent';
  readonly max: number;
  readonly used: number;
  readonly needed: number;
  /** The time until the call would be admitted; undefined if it never would. */
  readonly retryAfterMs: number | undefined;
}

/** The result of counting a call, with the figures of each subject after it. */
export type Checked =
  | { readonly figures: readonly Figures[]; readonly refusal: Refusal }
  | {
      readonly figures: readonly Figures[];
      readonly refusal?: undefined;
      /** Ends the call with the tokens that it used. To be called once. */
      end(usedTokens: number, nowMs: number): void;
    };

/** The defaults of the operator. */
export interface DefaultLimits {
  readonly key: RateLimits | undefined;
  readonly account: RateLimits | undefined;
  readonly accountModel: RateLimits | undefined;
}

/** Whose limits apply to a call. */
export interface LimitedCaller {
  readonly key: Key;
  readonly accountRateLimits?: AccountRateLimits | undefined;
}

/** Returns what limits a call; undefined if nothing does. */
export function subjectsOf(
  { key, accountRateLimits }: LimitedCaller,
  modelId: string,
  defaults: DefaultLimits,
): readonly Subject[] | undefined {
  const { key: ofKey, account: ofAccount, accountModel: ofModel } = defaults;
  if (
    key.rateLimits === undefined &&
    accountRateLimits === undefined &&
    ofKey === undefined &&
    ofAccount === undefined &&
    ofModel === undefined
  )
    return undefined;
  const own = accountRateLimits?.models.find((each) => each.modelId === modelId)?.limits;
  const subjects = [
    subject('key', key.id, key.rateLimits, ofKey),
    subject('account_model', `${key.accountId} ${modelId}`, own, ofModel),
    subject('account', key.accountId, accountRateLimits?.allModels, ofAccount),
  ].filter((each) => each !== undefined);
  return subjects.length === 0 ? undefined : subjects;
}

/** 0 is no limit, also where there is a default. */
const effective = (own: number | undefined, byDefault: number | undefined): number | undefined => (own ?? byDefault) || undefined;

function subject(scope: Scope, id: string, own: RateLimits | undefined, byDefault: RateLimits | undefined): Subject | undefined {
  const requests = effective(own?.requestsPerMinute, byDefault?.requestsPerMinute);
  const tokens = effective(own?.tokensPerMinute, byDefault?.tokensPerMinute);
  const concurrent = effective(own?.concurrentCalls, byDefault?.concurrentCalls);
  if (requests === undefined && tokens === undefined && concurrent === undefined) return undefined;
  return { scope, id, hash: hashOf(`${scope} ${id}`), requests, tokens, concurrent };
}

/** Returns two FNV-1a hashes with different bases. */
function hashOf(text: string): [number, number] {
  let a = 0x811c9dc5;
  let b = 0x2b992ddf;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    a = Math.imul(a ^ code, 0x01000193);
    b = Math.imul(b ^ code, 0x85ebca6b);
    b ^= b >>> 13;
  }
  return [(a ^ (a >>> 16)) | 0, b | 0];
}

/** Returns the tokens that a prompt is estimated to have: a quarter of its bytes, which holds for English text, and a thousand per image or document. */
export function estimatedTokens({
  inputTokensMax,
  images,
  documents,
}: {
  inputTokensMax: number;
  images: number;
  documents: number;
}): number {
  return Math.min(Math.ceil(inputTokensMax / 4) + 1000 * (images + documents), 1_000_000_000);
}
