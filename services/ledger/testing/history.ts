// Random histories of a few accounts, keys and calls, and running one on books beside the reference model.
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { newId } from '#kit/id.js';
import { DepositSource, HoldState } from '#proto/ledger/v1/ledger.js';
import { fingerprintOf } from '../fingerprint.js';
import { entryId } from '../journal.js';
import type { Applied, Operation, ReplyTo } from '../model.js';
import type { Books } from './books.js';
import { type Answer, ReferenceLedger } from './reference-model.js';

/** An operation whose accounts, keys and holds are numbers, so that histories can be shrunk and run again under new ids. */
type Command = (ids: Ids) => Operation;

/** Operations of one transaction, after a pause. */
interface Batch {
  readonly pauseMs: number;
  /** Sent twice, as after a lost answer. */
  readonly repeated: boolean;
  readonly commands: readonly Command[];
}

interface Ids {
  readonly accounts: readonly string[];
  readonly keys: readonly string[];
  readonly holds: readonly string[];
}

const accountCount = 2;
const keyCount = 2;
const holdCount = 6;
const creditCount = 4;
const refundKeyCount = 8;

// Most of a history is about one account, so that its holds meet each other.
const accountNumber = fc.constantFrom(0, 0, 0, 1);
const keyNumber = fc.constantFrom(0, 0, 0, 1);
const holdName = fc.record({ account: accountNumber, hold: fc.nat(holdCount - 1) });
// Small amounts, so that balances and limits are met exactly, missed by one and overrun again and again.
const amount = (max: bigint, min = 0n): fc.Arbitrary<bigint> => fc.bigInt({ min, max });
const ttlMs = fc.constantFrom(1_000, 1_000, 5_000, 60_000);

function named(ids: Ids, name: HoldName): { accountId: string; holdId: string } {
  return { accountId: ids.accounts[name.account]!, holdId: ids.holds[name.hold]! };
}

interface HoldName {
  readonly account: number;
  readonly hold: number;
}

const hold = (names: fc.Arbitrary<HoldName>): fc.Arbitrary<Command> =>
  fc
    .record({
      name: names,
      key: keyNumber,
      least: amount(30n, 1n),
      more: amount(30n),
      ttlMs,
      limit: fc.option(amount(120n), { nil: undefined, freq: 3 }),
      version: amount(3n),
    })
    .map(({ name, key, least, more, ttlMs: ttl, limit, version }) => (ids) => ({
      kind: 'hold',
      ...named(ids, name),
      keyId: ids.keys[key]!,
      limitNanoUsd: limit,
      limitVersion: version,
      amountNanoUsd: least + more,
      minAmountNanoUsd: least,
      ttlMs: ttl,
      fingerprint: fingerprintOf([key, least, more, ttl]),
    }));

const checkpoint = (names: fc.Arbitrary<HoldName>): fc.Arbitrary<Command> =>
  fc.record({ name: names, cost: amount(60n), ttlMs }).map(({ name, cost, ttlMs: ttl }) => (ids) => ({
    kind: 'checkpoint',
    ...named(ids, name),
    costSoFarNanoUsd: cost,
    ttlMs: ttl,
  }));

const settle = (names: fc.Arbitrary<HoldName>): fc.Arbitrary<Command> =>
  fc
    .record({ name: names, cost: fc.oneof(amount(80n), amount(20n), fc.constant(0n)), key: fc.option(keyNumber, { nil: undefined, freq: 8 }) })
    .map(({ name, cost, key }) => (ids) => ({ kind: 'settle', ...named(ids, name), costNanoUsd: cost, keyId: key === undefined ? undefined : ids.keys[key] }));

const release = (names: fc.Arbitrary<HoldName>): fc.Arbitrary<Command> => names.map((name) => (ids) => ({ kind: 'release', ...named(ids, name) }));

/** The instant is set when the history runs. */
const expire = (names: fc.Arbitrary<HoldName>): fc.Arbitrary<Command> => names.map((name) => (ids) => ({ kind: 'expire', ...named(ids, name), expiredAtMs: 0 }));

const deposit = fc
  .record({ account: accountNumber, key: fc.nat(creditCount - 1), amount: amount(90n, 1n), promotion: fc.boolean() })
  .map(({ account, key, amount: amountNanoUsd, promotion }): Command => (ids) => ({
    kind: 'deposit',
    accountId: ids.accounts[account]!,
    idempotencyKey: `credit-${key}`,
    fingerprint: fingerprintOf(['deposit', amountNanoUsd, String(promotion)]),
    amountNanoUsd,
    source: promotion ? DepositSource.DEPOSIT_SOURCE_PROMOTION : DepositSource.DEPOSIT_SOURCE_CASH,
    reason: '',
  }));

const adjust = fc
  .record({ account: accountNumber, key: fc.nat(creditCount - 1), amount: amount(50n, 1n), down: fc.boolean() })
  .map(({ account, key, amount: size, down }): Command => (ids) => ({
    kind: 'adjust',
    accountId: ids.accounts[account]!,
    idempotencyKey: `credit-${key}`,
    fingerprint: fingerprintOf(['adjust', size, String(down)]),
    amountNanoUsd: down ? -size : size,
    reason: 'random',
    linkedEntryId: undefined,
  }));

const refund = (names: fc.Arbitrary<HoldName>): fc.Arbitrary<Command> =>
  fc
    .record({ name: names, key: fc.nat(refundKeyCount - 1), amount: fc.option(amount(40n, 1n), { nil: undefined, freq: 3 }) })
    .map(({ name, key, amount: amountNanoUsd }) => (ids) => ({
      kind: 'refund',
      ...named(ids, name),
      // Some of these are the names of deposits and adjustments too.
      idempotencyKey: `credit-${creditCount - 1 + key}`,
      fingerprint: fingerprintOf(['refund', name.hold, amountNanoUsd ?? 'all']),
      amountNanoUsd,
      reason: 'random',
    }));

const command = fc.oneof(
  { weight: 12, arbitrary: hold(holdName) },
  { weight: 6, arbitrary: checkpoint(holdName) },
  { weight: 5, arbitrary: settle(holdName) },
  { weight: 1, arbitrary: release(holdName) },
  { weight: 5, arbitrary: expire(holdName) },
  { weight: 3, arbitrary: deposit },
  { weight: 1, arbitrary: adjust },
  { weight: 4, arbitrary: refund(holdName) },
);

const pauseMs = fc.constantFrom(0, 900, 6_000);
const repeated = fc.constantFrom(false, false, true);
const batch = fc.record({ pauseMs, repeated, commands: fc.array(command, { minLength: 1, maxLength: 6 }) });

/** The steps of one call, which single random commands would seldom hit in this order. */
const life = holdName.chain((name) => {
  const one = fc.constant(name);
  return fc.tuple(hold(one), checkpoint(one), fc.oneof(expire(one), release(one), checkpoint(one)), settle(one), refund(one)).chain((steps) =>
    fc.tuple(...steps.map((step) => fc.record({ pauseMs, repeated, commands: fc.constant([step]) }))),
  );
});

/** A history: a first deposit, then lives of calls and batches of anything, with pauses between them. */
export const histories: fc.Arbitrary<Batch[]> = fc
  .tuple(deposit, fc.array(fc.oneof(batch.map((single): Batch[] => [single]), life), { minLength: 2, maxLength: 8, size: 'large' }))
  .map(([first, parts]) => [{ pauseMs: 0, repeated: false, commands: [first] }, ...parts.flat()]);

/** Runs a history on the books and on the reference model, and throws where they differ or an invariant is broken. */
export async function runHistory(books: Books, history: readonly Batch[]): Promise<void> {
  const make = (prefix: string, count: number): string[] => Array.from({ length: count }, () => newId(prefix));
  const ids: Ids = { accounts: make('acct', accountCount), keys: make('key', keyCount), holds: make('req', holdCount) };
  const reference = new ReferenceLedger();
  let nowMs = 1_800_000_000_000;
  for (const { pauseMs, repeated, commands } of history) {
    nowMs += pauseMs;
    for (let sending = 0; sending < (repeated ? 2 : 1); sending += 1) {
      const operations = commands.map((build) => at(build(ids), nowMs));
      const outcomes = await books.execute(operations, nowMs);
      operations.forEach((operation, index) => {
        const outcome = outcomes[index]!;
        assert.deepEqual(answerOf(operation, outcome), reference.apply(operation, nowMs), `the answer to ${operation.kind}`);
        checkOracles(operation, outcome);
      });
    }
  }
  for (const accountId of ids.accounts) await checkBooks(books, reference, accountId);
}

function at(operation: Operation, nowMs: number): Operation {
  return operation.kind === 'expire' ? { ...operation, expiredAtMs: nowMs } : operation;
}

const stateNames = new Map([
  [HoldState.HOLD_STATE_OPEN, 'open'],
  [HoldState.HOLD_STATE_SETTLED, 'settled'],
  [HoldState.HOLD_STATE_RELEASED, 'released'],
  [HoldState.HOLD_STATE_EXPIRED, 'expired'],
]);

/** The outcome in the words of the reference model. */
function answerOf(operation: Operation, outcome: Applied<ReplyTo<Operation>>): Answer {
  if (outcome.refusal !== undefined) return { refused: outcome.refusal.reason };
  const { reply } = outcome;
  if ('renewed' in reply) return { renewed: reply.renewed };
  if ('entry' in reply) return { creditedAfter: reply.balance.creditedNanoUsd, replayed: reply.replayed };
  if (reply.hold === undefined) return {};
  const { state, capturedNanoUsd: captured, shortfallNanoUsd: shortfall, amountNanoUsd: amount } = reply.hold;
  return {
    state: stateNames.get(state),
    captured,
    shortfall,
    ...(operation.kind === 'hold' ? { amount } : {}),
    ...('replayed' in reply ? { replayed: reply.replayed } : {}),
  };
}

/** What must be true of every single outcome, whatever the reference model says. */
function checkOracles(operation: Operation, outcome: Applied<ReplyTo<Operation>>): void {
  const { account, key, hold: changed, entries = [] } = outcome.changes;
  if (account !== undefined) {
    const { creditedNanoUsd, spentNanoUsd, heldNanoUsd } = account;
    assert(spentNanoUsd >= 0n && heldNanoUsd >= 0n && spentNanoUsd + heldNanoUsd <= creditedNanoUsd, 'an account is below zero');
  }
  if (operation.kind === 'hold' && changed !== undefined) {
    assert(key !== undefined && (key.limitNanoUsd === undefined || key.spentNanoUsd + key.heldNanoUsd <= key.limitNanoUsd), 'a hold exceeds the limit of its key');
    assert(changed.amountNanoUsd >= operation.minAmountNanoUsd && changed.amountNanoUsd <= operation.amountNanoUsd, 'a hold has another amount');
  }
  if (operation.kind === 'refund' && changed !== undefined) {
    assert(changed.refundedNanoUsd > 0n && changed.refundedNanoUsd <= changed.capturedNanoUsd, 'more was given back than was captured');
    assert(entries.length === 1 && entries[0]!.linkedEntryId === entryId(changed.accountId, changed.chargeSeq), 'a refund is not linked to the charge');
  }
  if (operation.kind === 'settle' && changed !== undefined) {
    assert.equal(changed.capturedNanoUsd + changed.shortfallNanoUsd, operation.costNanoUsd, 'captured and shortfall are not the cost');
    assert(entries.every((entry) => entry.reference === operation.holdId), 'an entry is of another hold');
  }
  if (outcome.refusal !== undefined) assert(account === undefined && changed === undefined && entries.length === 0, 'a refusal moved money');
  if (outcome.refusal === undefined && 'replayed' in outcome.reply && outcome.reply.replayed) assert.deepEqual(outcome.changes, {}, 'a replay changed something');
}

/** What must be true of the books when a history is over. */
async function checkBooks(books: Books, reference: ReferenceLedger, accountId: string): Promise<void> {
  assert.deepEqual(await books.drifts(accountId), [], 'the books disagree with the journal');
  const { account, keys } = await books.snapshot(accountId);
  assert.equal(account?.creditedNanoUsd ?? 0n, reference.credited(accountId), 'credited');
  assert.equal(account?.spentNanoUsd ?? 0n, reference.spent(accountId), 'spent');
  assert.equal(account?.heldNanoUsd ?? 0n, reference.held(accountId), 'held');
  for (const key of keys) {
    assert.equal(key.spentNanoUsd, reference.spent(accountId, key.keyId), 'spent of a key');
    assert.equal(key.heldNanoUsd, reference.held(accountId, key.keyId), 'held of a key');
  }
}
