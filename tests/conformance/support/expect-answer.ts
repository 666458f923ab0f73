// Checks the result of a script on each path: what the caller receives, and the charge to the nano-dollar.
import { expect } from '@jest/globals';
import type { Script, Usage } from '../../upstream/script.js';
import { type Conformance, type Outcome, priceOf } from './gateway.js';
import { nameOf, type Path } from './paths.js';
import { type Bodies, bodyFor } from './requests.js';
import type { Seen } from './seen.js';

/** The figures that scripts report by default: every class that both formats have. */
export const usage: Required<Usage> = { input: 21, cacheRead: 8, cacheWrite5m: 5, cacheWrite1h: 0, output: 13, reasoning: 4 };

/** How an answer must end. */
type ExpectedEnd =
  /** Complete, and charged by these figures of the upstream. */
  | { readonly kind: 'complete'; readonly usage?: Usage }
  /** Complete, and charged by Tollgate's count because the upstream's figures are missing or implausible; some of them may still be used. */
  | { readonly kind: 'estimated'; readonly reported?: Partial<Usage> }
  /** With an error after some output: a stream is charged for what was delivered, a whole answer is free. */
  | { readonly kind: 'broken' }
  /** With an error before any output, which is free. */
  | { readonly kind: 'failed' };

/** An expectation. */
export interface ExpectedAnswer {
  readonly end?: ExpectedEnd;
  /** The expected parts of what the caller receives; other parts are not checked. */
  readonly seen?: ExpectedSeen;
}

/** Values or matchers. */
type ExpectedSeen = Readonly<Partial<Record<keyof Seen, unknown>>>;

/** Makes a call on each path and checks it. Returns the outcomes by the name of the path. */
export async function expectAnswers(
  gateway: Conformance,
  paths: readonly Path[],
  script: Script | ((path: Path) => Script),
  expected: ExpectedAnswer | ((path: Path) => ExpectedAnswer),
  bodies: Partial<Bodies> = {},
): Promise<ReadonlyMap<Path, Outcome>> {
  const outcomes = new Map<Path, Outcome>();
  // One after another, because the stub has one script per model and matches requests to calls by their order.
  for (const path of paths) {
    gateway.answer(path.upstream, { usage, ...(typeof script === 'function' ? script(path) : script) });
    const outcome = await onPath(path, () => gateway.call(path, bodyFor(path, bodies)));
    outcomes.set(path, outcome);
    await onPath(path, () => expectAnswer(gateway, path, outcome, typeof expected === 'function' ? expected(path) : expected));
  }
  return outcomes;
}

/** Runs `work`, and adds the path to its errors. */
export async function onPath<T>(path: Path, work: () => Promise<T> | T): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Error) error.message = `${nameOf(path)}: ${error.message}`;
    throw error;
  }
}

/** Checks one outcome. */
async function expectAnswer(
  gateway: Conformance,
  path: Path,
  outcome: Outcome,
  { end = { kind: 'complete' }, seen = {} }: ExpectedAnswer,
): Promise<void> {
  const isError = end.kind === 'broken' || end.kind === 'failed';
  expect({ error: outcome.seen.error, isRefused: outcome.status >= 400, ...pick(outcome.seen, seenBy(path, seen)) }).toEqual({
    error: isError ? expect.any(String) : undefined,
    // A stream that has begun can only report an error inside the stream.
    isRefused: isError && (!path.streaming || (end.kind === 'failed' && outcome.status >= 400)),
    ...seenBy(path, seen),
  });
  if (!isError && !('stop' in seen)) expect(outcome.seen.stop).toBeDefined();
  await expectCharge(gateway, path, outcome, end);
}

async function expectCharge(gateway: Conformance, path: Path, outcome: Outcome, end: ExpectedEnd): Promise<void> {
  const record = await gateway.charged(outcome);
  const isFree = end.kind === 'failed' || (end.kind === 'broken' && !path.streaming);
  // The charge always equals the cost of the recorded figures.
  expect({ charge: record.chargeNanoUsd }).toEqual({ charge: isFree ? 0n : priceOf(record.tokens) });
  if (end.kind === 'complete') {
    const wanted = chargedUsage(path, end.usage ?? usage);
    expect({ source: record.source, tokens: record.tokens }).toEqual({ source: 'reported', tokens: wanted });
    const { input, cacheRead, output, reasoning } = wanted;
    expect(outcome.seen.usage).toEqual({ input, cacheRead, cacheWrite: wanted.cacheWrite5m + wanted.cacheWrite1h, output, reasoning });
  } else if (end.kind !== 'failed') {
    expect(record).toMatchObject({ source: 'estimated', ...(end.kind === 'estimated' ? { tokens: end.reported ?? {} } : {}) });
    // The count is never zero, and never the whole cap.
    expect(record.tokens.input).toBeGreaterThan(0);
    expect(record.tokens.output).toBeGreaterThan(0);
    expect(record.tokens.output).toBeLessThan(100);
  }
}

/** Returns the complete figures. Only the messages format distinguishes lifetimes of cache writes. */
function chargedUsage(
  { upstream }: Path,
  { input, cacheRead = 0, cacheWrite5m = 0, cacheWrite1h = 0, output, reasoning = 0 }: Usage,
): Required<Usage> {
  const writes = upstream === 'messages' ? { cacheWrite5m, cacheWrite1h } : { cacheWrite5m: cacheWrite5m + cacheWrite1h, cacheWrite1h: 0 };
  return { input, cacheRead, ...writes, output, reasoning };
}

function pick(seen: Seen, wanted: ExpectedSeen): ExpectedSeen {
  return Object.fromEntries(Object.keys(wanted).map((key) => [key, seen[key as keyof Seen]]));
}

/** Returns what the caller receives. The messages format has no field for the text of a refusal, which is ordinary text. */
function seenBy(path: Path, wanted: ExpectedSeen): ExpectedSeen {
  if (path.client !== 'messages' || wanted.refusal === undefined || wanted.refusal === '') return wanted;
  return { ...wanted, refusal: '', text: `${String(wanted.text ?? '')}${String(wanted.refusal)}` };
}
