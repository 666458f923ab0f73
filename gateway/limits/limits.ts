// Determines the limits of a call: those of its key, its project, its account, and the model within its account, each set by a user or by default. Pure.
import {
  type Checked as WindowChecked,
  type Figures as WindowFigures,
  type Refusal as WindowRefusal,
  subjectHash,
  type WindowSubject,
} from '#kit/limits/window-table.js';
import type { AccountRateLimits, Key, Project, RateLimits } from '#proto/auth/v1/auth.js';

/** What a limit is about. */
type Scope = 'key' | 'project' | 'account' | 'account_model';

/** A key, a project, an account or a model within an account whose use is limited. */
export interface Subject extends WindowSubject {
  readonly scope: Scope;
  /** Names the subject among all of its kind. */
  readonly id: string;
}

export type { Demand } from '#kit/limits/window-table.js';

/** What a subject has used of its limits. */
export type Figures = WindowFigures<Subject>;

/** A limit that refuses a call. */
export type Refusal = WindowRefusal<Subject>;

/** The result of counting a call, with the figures of each subject after it. */
export type Checked = WindowChecked<Subject>;

/** The defaults of the operator. */
export interface DefaultLimits {
  readonly key: RateLimits | undefined;
  readonly project: RateLimits | undefined;
  readonly account: RateLimits | undefined;
  readonly accountModel: RateLimits | undefined;
}

/** Whose limits apply to a call. */
export interface LimitedCaller {
  readonly key: Key;
  readonly project?: Project | undefined;
  readonly accountRateLimits?: AccountRateLimits | undefined;
}

/** Returns the limits of a call; undefined if there are none. */
export function subjectsOf(
  { key, project, accountRateLimits }: LimitedCaller,
  modelId: string,
  defaults: DefaultLimits,
): readonly Subject[] | undefined {
  const { key: ofKey, project: ofProject, account: ofAccount, accountModel: ofModel } = defaults;
  if (
    key.rateLimits === undefined &&
    project?.rateLimits === undefined &&
    accountRateLimits === undefined &&
    ofKey === undefined &&
    ofProject === undefined &&
    ofAccount === undefined &&
    ofModel === undefined
  )
    return undefined;
  const own = accountRateLimits?.models.find((each) => each.modelId === modelId)?.limits;
  const subjects = [
    subject('key', key.id, key.rateLimits, ofKey),
    subject('project', key.projectId, project?.rateLimits, ofProject),
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
  return { scope, id, hash: subjectHash(`${scope} ${id}`), requests, tokens, concurrent };
}

/** Returns a separate subject for requests that are not calls, such as the counts of tokens of a key. */
export function requestSubject(id: string, perMinuteMax: number): Subject {
  return { scope: 'key', id, hash: subjectHash(`key ${id}`), requests: perMinuteMax, tokens: undefined, concurrent: undefined };
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
