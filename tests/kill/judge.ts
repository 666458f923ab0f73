// Compares what the clients observed with the books. Pure. Every violation is described in words and names its call.
import { type CallKind, costOf, type Price } from './call-kinds.js';
import type { Books, EntryRow, RecordRow } from './books.js';
import type { Outcome, Tokens } from './outcome.js';

/** The answer of a kind of call when there are no faults. */
export interface Reference {
  readonly text: string;
  readonly tokens: Tokens;
}

/** What the judge compares the outcomes and books with. */
export interface Expectations {
  readonly prices: ReadonlyMap<string, Price>;
  readonly references: ReadonlyMap<CallKind, Reference>;
  /** How many deltas a cut stream may be charged beyond those that its client received, because they were in transit. */
  readonly deltasInTransitMax: number;
}

/** The violations, and sums over all calls. */
export interface Judgement {
  /** Empty if no rule was broken. */
  readonly violations: string[];
  /** For calls that were delivered in part: the cost of the tokens that their clients received, and what was charged. */
  readonly partial: { readonly calls: number; readonly deliveredNanoUsd: bigint; readonly chargedNanoUsd: bigint };
  /** The largest number of deltas that a cut stream was charged beyond those that its client received. */
  readonly deltasInTransit: number;
  readonly outcomes: Readonly<Record<string, number>>;
}

const finishedOutcomes: readonly string[] = ['completed', 'max_tokens'];
// Bounds the tokenizer's estimate of the short prompts, which is used if an upstream broke off before it reported usage.
const inputTokensMax = 64;

/** Checks all calls. */
export function judge(outcomes: readonly Outcome[], books: Books, expectations: Expectations): Judgement {
  const violations: string[] = [];
  const byClientId = new Map<string, RecordRow[]>();
  for (const record of books.records) {
    const clientId = record.client_request_id ?? '';
    byClientId.set(clientId, [...(byClientId.get(clientId) ?? []), record]);
  }
  const partial = { calls: 0, deliveredNanoUsd: 0n, chargedNanoUsd: 0n };
  const counts: Record<string, number> = {};
  let deltasInTransit = 0;
  for (const outcome of outcomes) {
    const records = byClientId.get(outcome.clientId) ?? [];
    byClientId.delete(outcome.clientId);
    const summary = `${outcome.how}${outcome.originalRequestId === undefined ? '' : ' replayed'} → ${records.map((record) => record.outcome).join(' + ') || 'no record'}`;
    counts[summary] = (counts[summary] ?? 0) + 1;
    const faults =
      outcome.originalRequestId === undefined
        ? judgeCall(outcome, records, expectations)
        : judgeReplay(outcome, records, books, expectations);
    violations.push(...faults.map((fault) => `${fault} — ${describe(outcome, records)}`));
    if (outcome.how === 'whole' || outcome.deltas === 0 || outcome.originalRequestId !== undefined) continue;
    partial.calls += 1;
    partial.deliveredNanoUsd += costOf(deliveredTokens(outcome, expectations), expectations.prices.get(outcome.kind.model)!);
    const [record] = records;
    if (
      !mayContinue(outcome) &&
      outcome.kind.tokensPerDeltaMax === 1 &&
      record !== undefined &&
      !finishedOutcomes.includes(record.outcome)
    ) {
      deltasInTransit = Math.max(deltasInTransit, record.output_tokens - outcome.deltas);
    }
    partial.chargedNanoUsd += records.reduce((sum, record) => sum + BigInt(record.charge_nano_usd), 0n);
  }
  for (const records of byClientId.values())
    violations.push(...records.map((record) => `a record without a call — ${JSON.stringify(shortened(record))}`));
  violations.push(...judgeKeys(outcomes, books), ...judgeBooks(books));
  return { violations, partial, deltasInTransit, outcomes: counts };
}

function judgeCall(outcome: Outcome, records: readonly RecordRow[], { prices, references, deltasInTransitMax }: Expectations): string[] {
  const { kind, how } = outcome;
  const reference = references.get(kind)!;
  const price = prices.get(kind.model)!;
  const faults: string[] = [];
  const check = (isValid: boolean, fault: string): void => void (isValid || faults.push(fault));

  check(records.length <= 1, 'more than one record');
  check(how !== 'hung', 'a call that never ended');
  check(how !== 'truncated', 'a stream that ended cleanly without its last event');
  check(reference.text.startsWith(outcome.text), 'a text that differs from the model’s');
  const [record] = records;
  const charge = BigInt(record?.charge_nano_usd ?? 0);
  if (record !== undefined) {
    check(outcome.requestId === undefined || record.id === outcome.requestId, 'a record with a different id');
    check(record.shortfall_nano_usd === '0', 'a shortfall although there were enough funds');
    check(record.captured_nano_usd === record.charge_nano_usd, 'the captured amount differs from the charge');
  }
  if (how === 'whole') {
    check(outcome.text === reference.text, 'a full answer with incomplete text');
    check(same(outcome.reported, reference.tokens), 'token counts reported to the client differ from the model’s');
    check(record !== undefined, 'a full answer without a record');
    if (record === undefined) return faults;
    check(finishedOutcomes.includes(record.outcome), `a full answer recorded as ${record.outcome}`);
    check(
      same(outcome.reported, { input: record.input_tokens, output: record.output_tokens }),
      'recorded tokens differ from those reported to the client',
    );
    check(charge === costOf(outcome.reported!, price), `the charge is not tokens × price, ${costOf(outcome.reported!, price)}`);
  } else if (how === 'refused') {
    check(charge === 0n, 'charged for a refused call');
  } else if (record !== undefined && finishedOutcomes.includes(record.outcome)) {
    // The model had finished; only the end of the answer did not reach the client.
    check(charge === costOf(reference.tokens, price), `a finished answer is not charged in full, ${costOf(reference.tokens, price)}`);
  } else if (!kind.isStream && how !== 'disconnected') {
    check(charge === 0n, 'charged for a whole answer that was not delivered');
  } else {
    const deltas = outcome.deltas + deltasInTransitMax;
    const output = mayContinue(outcome) ? reference.tokens.output : Math.min(reference.tokens.output, deltas * kind.tokensPerDeltaMax);
    const costMax = costOf({ input: Math.max(reference.tokens.input, inputTokensMax), output }, price);
    check(charge <= costMax, `charged more than was delivered and in transit, ${costMax}`);
    check(charge === 0n || charge >= price.request, `charged without its request, ${price.request}`);
  }
  return faults;
}

/** Reports whether the answer may have been drained to its end after the client disconnected. */
function mayContinue({ how, idempotencyKey }: Outcome): boolean {
  return how === 'disconnected' || idempotencyKey !== undefined;
}

/** Checks a replayed answer: the retry itself is not on the books, and the first call has everything that a full answer must have. */
function judgeReplay(outcome: Outcome, records: readonly RecordRow[], books: Books, expectations: Expectations): string[] {
  const faults = records.length === 0 ? [] : ['a record of a replayed answer'];
  if (outcome.how !== 'whole') return faults;
  const originals = books.records.filter(({ id }) => id === outcome.originalRequestId);
  return [...faults, ...judgeCall({ ...outcome, requestId: outcome.originalRequestId }, originals, expectations)];
}

/** Checks that calls with the same idempotency key are charged once. */
function judgeKeys(outcomes: readonly Outcome[], { records }: Books): string[] {
  const keyOf = new Map(outcomes.map(({ clientId, idempotencyKey }) => [clientId, idempotencyKey]));
  const charged = new Map<string, string[]>();
  for (const { id, client_request_id: clientId, charge_nano_usd: charge } of records) {
    const key = keyOf.get(clientId ?? '');
    if (key !== undefined && charge !== '0') charged.set(key, [...(charged.get(key) ?? []), id]);
  }
  return [...charged]
    .filter(([, ids]) => ids.length > 1)
    .map(([key, ids]) => `more than one charge under the Idempotency-Key ${key}: ${ids.join(', ')}`);
}

function judgeBooks({ records, balances, entries, verification }: Books): string[] {
  const faults: string[] = [];
  const recordsById = new Map(records.map((record) => [record.id, record]));
  if (recordsById.size !== records.length) faults.push('two records with the same call id');
  if (!verification.ok || verification.sum_nano_usd !== '0') faults.push(`verify reports wrong books: ${JSON.stringify(verification)}`);
  if (verification.records_checked < records.length)
    faults.push(`verify checked ${verification.records_checked} of ${records.length} records`);
  if (verification.open_holds !== 0) faults.push(`${verification.open_holds} holds are still open`);
  for (const [accountId, balance] of balances) {
    const own = records.filter((record) => record.account_id === accountId);
    const charged = own.reduce((sum, record) => sum + BigInt(record.charge_nano_usd), 0n);
    if (BigInt(balance.spent_nano_usd) !== charged)
      faults.push(`${accountId} has spent ${balance.spent_nano_usd}, but its records sum to ${charged}`);
    if (BigInt(balance.available_nano_usd) < 0n) faults.push(`${accountId} has a negative balance: ${balance.available_nano_usd}`);
    const taken = takenByCall(entries.get(accountId) ?? []);
    for (const [callId, sum] of taken)
      if (!recordsById.has(callId)) faults.push(`the journal charged ${sum} nano-USD for ${callId}, which has no record`);
    for (const { id, charge_nano_usd: charge } of own) {
      if ((taken.get(id) ?? 0n) !== BigInt(charge))
        faults.push(`the journal charged ${taken.get(id) ?? 0n} nano-USD for ${id}, but its record has ${charge}`);
    }
  }
  return faults;
}

/** Returns charges minus refunds, by call. */
function takenByCall(entries: readonly EntryRow[]): Map<string, bigint> {
  const taken = new Map<string, bigint>();
  for (const { kind, reference, amount_nano_usd: amount } of entries) {
    const sign = kind === 'charge' || kind === 'refund_reversal' ? 1n : kind === 'charge_correction' || kind === 'refund' ? -1n : 0n;
    if (sign !== 0n) taken.set(reference, (taken.get(reference) ?? 0n) + sign * BigInt(amount));
  }
  return taken;
}

function deliveredTokens(outcome: Outcome, { references }: Expectations): Tokens {
  const { text, tokens } = references.get(outcome.kind)!;
  return { input: tokens.input, output: Math.round((tokens.output * outcome.text.length) / text.length) };
}

function same(one: Tokens | undefined, other: Tokens): boolean {
  return one !== undefined && one.input === other.input && one.output === other.output;
}

function describe(outcome: Outcome, records: readonly RecordRow[]): string {
  const { kind, text, ...rest } = outcome;
  return JSON.stringify({ call: kind.name, ...rest, textLength: text.length, records: records.map(shortened) });
}

function shortened(record: RecordRow): object {
  const {
    id,
    outcome,
    outcome_detail: detail,
    input_tokens: input,
    output_tokens: output,
    charge_nano_usd: charge,
    captured_nano_usd: captured,
  } = record;
  return { id, outcome, detail, input, output, charge, captured };
}
