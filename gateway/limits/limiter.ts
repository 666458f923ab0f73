// Admits or refuses calls by their rate limits, before any money is held.
import type { AppError } from '#client/errors/app-error.js';
import type { Clock } from '#kit/clock.js';
import { counter } from '#kit/telemetry/metrics.js';
import type { AccountRateLimits, Key, Project } from '#proto/auth/v1/auth.js';
import type { TokenCounts } from '#proto/inference/v1/tokens.js';
import { countRateError, managementRateError, rateLimitError } from './errors.js';
import {
  type Checked,
  type DefaultLimits,
  type Demand,
  estimatedTokens,
  type Figures,
  type Refusal,
  requestSubject,
  type Subject,
  subjectsOf,
} from './limits.js';
import type { ParsedCall } from '../formats/format.js';

const refused = counter({
  name: 'tollgate.gateway.rate_limited',
  unit: '{call}',
  description: 'Calls refused by a rate limit.',
  by: 'gateway',
  labels: {
    scope: 'key, project, account or account_model (a model within an account)',
    limit: 'requests, tokens or concurrent (calls in flight)',
  },
});

/** Counts calls against their limits: in this process, or in Redis for several. */
export interface LimitStore {
  /** Counts a call against all subjects, or none if one of them refuses it. Returns a promise only if it has to wait. */
  take(subjects: readonly Subject[], demand: Demand, nowMs: number): Checked | Promise<Checked>;
  /** Whether calls are counted without Redis at present; absent if the store does not use it. */
  isWithoutRedis?(): boolean;
  start?(): Promise<void>;
  stop?(): Promise<void>;
}

/** A call that was admitted by limits. */
export interface Admission {
  /** Ends the call with the tokens that it used; undefined leaves its estimate. Calling it again changes nothing. */
  end(usedTokens: number | undefined): void;
}

/** A call that may be limited. */
interface CallToLimit {
  readonly key: Key;
  readonly project?: Project | undefined;
  readonly accountRateLimits?: AccountRateLimits | undefined;
  readonly parsed: Pick<ParsedCall, 'inputTokensMax' | 'images' | 'documents'>;
  /** Receives the figures for the headers of the answer, whether or not the call is admitted. */
  readonly onLimits?: (figures: readonly Figures[]) => void;
}

/** Admits calls. */
export interface Limiter {
  /** Returns undefined for a call without limits. Throws rate_limited. */
  admit(call: CallToLimit, modelId: string): Admission | undefined | Promise<Admission>;
  /** Counts the replay of an answer as a request without tokens. Throws rate_limited. */
  admitReplay(call: CallToLimit, modelId: string): Promise<void>;
  /** Counts a request to count tokens, for which a key has a limit per minute, separate from that of its calls. Throws rate_limited. */
  admitCount(keyId: string, countsPerMinuteMax: number): Promise<void>;
  /** Counts a request with a management key, which has a limit per minute. Throws rate_limited. */
  admitManagement(keyId: string, requestsPerMinuteMax: number): Promise<void>;
}

/** Creates the limiter. */
export function createLimiter({ store, defaults, clock }: { store: LimitStore; defaults: DefaultLimits; clock: Clock }): Limiter {
  const decide = (call: CallToLimit, modelId: string, demand: Demand, checked: Checked): Admission => {
    call.onLimits?.(checked.figures);
    if (checked.refusal !== undefined) {
      const { refusal } = checked;
      refused.count({ scope: refusal.figures.subject.scope, limit: refusal.limit });
      throw rateLimitError(refusal, modelId);
    }
    let isOpen = true;
    return {
      end(usedTokens) {
        if (!isOpen) return;
        isOpen = false;
        checked.end(usedTokens ?? demand.tokens, clock.monotonicMs());
      },
    };
  };
  const admit: Limiter['admit'] = (call, modelId) => {
    const subjects = subjectsOf(call, modelId, defaults);
    if (subjects === undefined) return undefined;
    const demand = { tokens: estimatedTokens(call.parsed) };
    const checked = store.take(subjects, demand, clock.monotonicMs());
    if (checked instanceof Promise) return checked.then((done) => decide(call, modelId, demand, done));
    return decide(call, modelId, demand, checked);
  };
  const admitRequest = async (id: string, perMinuteMax: number, errorOf: (refusal: Refusal) => AppError): Promise<void> => {
    const checked = await store.take([requestSubject(id, perMinuteMax)], { tokens: 0 }, clock.monotonicMs());
    if (checked.refusal !== undefined) throw errorOf(checked.refusal);
    checked.end(0, clock.monotonicMs());
  };
  return {
    admit,
    async admitReplay(call, modelId) {
      (await admit({ ...call, parsed: { inputTokensMax: 0, images: 0, documents: 0 } }, modelId))?.end(0);
    },
    admitCount: (keyId, max) => admitRequest(`counts ${keyId}`, max, countRateError),
    admitManagement: (keyId, max) => admitRequest(`requests ${keyId}`, max, managementRateError),
  };
}

/** Returns the tokens that count against limits. */
export function countedTokens(tokens: TokenCounts): number {
  const { inputTokens, cacheReadTokens, cacheWrite5mTokens, cacheWrite1hTokens, outputTokens } = tokens;
  return inputTokens + cacheReadTokens + cacheWrite5mTokens + cacheWrite1hTokens + outputTokens;
}
