// Chooses the target of the next attempt of a call. Pure.
import type { Standing } from './target-health.js';

/** A target that a call may use. */
export interface Candidate {
  /** Targets with a lower number are used first. */
  readonly priority: number;
  /** The share of calls that it takes among the targets of its priority. */
  readonly weight: number;
  /** When its ejection or cooldown ends. */
  readonly untilMs: number;
  readonly standing: Standing;
  /** The recent time to the first token; undefined if it is not known. */
  readonly latencyMs?: number | undefined;
  /** The share of its recent calls that failed or began late. */
  readonly badShare?: number;
  /** Its number in (0, 1) for the beginning of the prompt; undefined if calls are distributed by weight. */
  readonly draw?: number | undefined;
}

/**
 * Returns the candidate to call next. Compares only the usable candidates with the lowest priority number. If they have draws, returns the
 * one with the highest draw after weighting. Otherwise picks two at random by weight and returns the healthier and faster one. If no
 * candidate is usable, returns the cooling candidate whose cooldown ends first, or else the ejected candidate whose ejection ends first: a
 * target that may fail is better than none. Returns undefined if there are no candidates. `random` returns numbers in [0, 1).
 */
export function chooseTarget<C extends Candidate>(candidates: readonly C[], random: () => number): C | undefined {
  if (candidates.length < 2) return candidates[0];
  let first = Number.POSITIVE_INFINITY;
  let total = 0;
  let count = 0;
  for (const candidate of candidates) {
    const { priority, weight } = candidate;
    if (!isUsable(candidate) || priority > first) continue;
    total = priority < first ? weight : total + weight;
    count = priority < first ? 1 : count + 1;
    first = priority;
  }
  if (first === Number.POSITIVE_INFINITY) return lastResort(candidates);
  const highest = highestDraw(candidates, first);
  if (highest !== undefined) return highest;
  const one = byWeight(candidates, first, random() * total);
  if (count < 2) return one;
  // With replacement, so that the worse one is still called, and its figures stay current.
  const other = byWeight(candidates, first, random() * total);
  return isBetter(other!, one!) ? other : one;
}

function byWeight<C extends Candidate>(candidates: readonly C[], priority: number, at: number): C | undefined {
  let left = at;
  let chosen: C | undefined;
  for (const candidate of candidates) {
    if (!isUsable(candidate) || candidate.priority !== priority) continue;
    chosen = candidate;
    left -= candidate.weight;
    if (left < 0) break;
  }
  return chosen;
}

/** Chooses by weighted rendezvous hashing: when a candidate comes or goes, only its own calls move. */
function highestDraw<C extends Candidate>(candidates: readonly C[], priority: number): C | undefined {
  let chosen: C | undefined;
  let highest = 0;
  for (const candidate of candidates) {
    if (candidate.draw === undefined || !isUsable(candidate) || candidate.priority !== priority) continue;
    const score = -candidate.weight / Math.log(candidate.draw);
    if (chosen !== undefined && score <= highest) continue;
    chosen = candidate;
    highest = score;
  }
  return chosen;
}

/** A smaller difference may be chance. */
const marginRatio = 1.25;
/** How much the share of failures counts compared with latency: a failure costs the call another attempt. */
const failureCost = 4;

/** Reports whether the first one's recent calls failed less or began sooner, by a clear margin. */
function isBetter(one: Candidate, other: Candidate): boolean {
  const costOf = ({ badShare = 0 }: Candidate): number => 1 + failureCost * badShare;
  const areKnown = one.latencyMs !== undefined && other.latencyMs !== undefined;
  const latency = areKnown ? (one.latencyMs! + 1) / (other.latencyMs! + 1) : 1;
  return latency * (costOf(one) / costOf(other)) * marginRatio < 1;
}

/**
 * Returns how many of a model's targets may be ejected at the same time: `sharePercent` of them, but at least one if there are several, and
 * never the only one.
 */
export function ejectedMax(targets: number, sharePercent: number): number {
  return targets < 2 ? 0 : Math.min(targets, Math.max(1, Math.floor((targets * sharePercent) / 100)));
}

/** Reports whether a call may be sent to the target now. */
export function isUsable({ standing }: Pick<Candidate, 'standing'>): boolean {
  return standing === 'available' || standing === 'trial_due';
}

function lastResort<C extends Candidate>(candidates: readonly C[]): C | undefined {
  const isBefore = (one: C, other: C): boolean =>
    one.standing === other.standing ? one.untilMs < other.untilMs : one.standing === 'cooling';
  return candidates.reduce((best, candidate) => (isBefore(candidate, best) ? candidate : best));
}
