// Chooses the target of the next attempt of a call. Pure.
import type { Standing } from './target-health.js';

/** A target that a call may use. */
export interface Candidate {
  /** Targets of a lower number are used first. */
  readonly priority: number;
  /** The share of calls that it takes among the targets of its priority. */
  readonly weight: number;
  /** When its ejection or cooldown ends. */
  readonly untilMs: number;
  readonly standing: Standing;
}

/**
 * Returns the candidate to call next. It is chosen by weight from the usable candidates of the first priority that has any. If no candidate is
 * usable, it is the cooling one whose cooldown ends first; if none is cooling, the ejected one whose ejection ends first. An attempt that may fail
 * is better than no attempt. `random` is in [0, 1).
 */
export function chooseTarget<C extends Candidate>(candidates: readonly C[], random: () => number): C | undefined {
  if (candidates.length < 2) return candidates[0];
  let first = Number.POSITIVE_INFINITY;
  let total = 0;
  for (const candidate of candidates) {
    const { priority, weight } = candidate;
    if (!isUsable(candidate) || priority > first) continue;
    total = priority < first ? weight : total + weight;
    first = priority;
  }
  if (first === Number.POSITIVE_INFINITY) return lastResort(candidates);
  let left = random() * total;
  let chosen: C | undefined;
  for (const candidate of candidates) {
    if (!isUsable(candidate) || candidate.priority !== first) continue;
    chosen = candidate;
    left -= candidate.weight;
    if (left < 0) break;
  }
  return chosen;
}

/**
 * Returns how many of a model's targets may be ejected at the same time: the share of them, but at least one of several, and never the only
 * one.
 */
export function ejectedMax(targets: number, sharePercent: number): number {
  return targets < 2 ? 0 : Math.min(targets, Math.max(1, Math.floor((targets * sharePercent) / 100)));
}

/** Reports whether a call may go there at once. */
export function isUsable({ standing }: Pick<Candidate, 'standing'>): boolean {
  return standing === 'available' || standing === 'trial_due';
}

function lastResort<C extends Candidate>(candidates: readonly C[]): C | undefined {
  const isBefore = (one: C, other: C): boolean =>
    one.standing === other.standing ? one.untilMs < other.untilMs : one.standing === 'cooling';
  return candidates.reduce((best, candidate) => (isBefore(candidate, best) ? candidate : best));
}
