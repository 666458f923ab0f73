// Admits one gateway's share of every limit, counted by itself, while several gateways cannot share their counts.
import type { LimitStore } from './limiter.js';
import type { Checked, Demand, Subject } from './limits.js';

/**
 * Counts a call against this gateway's share of every limit. A call that needs more tokens than the share, but no more than the limit, is admitted
 * if no other tokens count, because it could not be admitted at all otherwise. A refusal names the limit, not the share.
 */
export async function takeShare(
  local: LimitStore,
  subjects: readonly Subject[],
  demand: Demand,
  gateways: number,
  nowMs: number,
): Promise<Checked> {
  const shares = subjects.map((subject) => shareOf(subject, gateways));
  const counted = shares.map((share, index) => ({ ...share, tokens: tokensFor(share, subjects[index]!, demand) }));
  const checked = await local.take(counted, demand, nowMs);
  const figures = checked.figures.map((each, index) => ({ ...each, subject: shares[index]! }));
  const { refusal } = checked;
  if (refusal === undefined) return { ...checked, figures };
  const limited = subjects.find(({ scope }) => scope === refusal.figures.subject.scope)!;
  return { figures, refusal: { ...refusal, max: limited[refusal.limit]! } };
}

/** Returns a subject with this gateway's share of its limits, at least 1. */
function shareOf(subject: Subject, gateways: number): Subject {
  const share = (limit: number | undefined): number | undefined =>
    limit === undefined ? undefined : Math.max(1, Math.floor(limit / gateways));
  return { ...subject, requests: share(subject.requests), tokens: share(subject.tokens), concurrent: share(subject.concurrent) };
}

/** Returns the tokens that a call is compared with: the share, or what the call needs if only the limit has room for it. */
function tokensFor({ tokens: share }: Subject, { tokens: limit }: Subject, { tokens: needed }: Demand): number | undefined {
  return share === undefined || limit === undefined ? undefined : Math.max(share, Math.min(needed, limit));
}
