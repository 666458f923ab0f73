// Checks that the judge detects violations: each rule is given a bill that breaks it.
import { describe, expect, it } from '@jest/globals';
import type { BalanceRow } from '../support/clients/calls.js';
import type { Books, EntryRow, RecordRow } from './books.js';
import { type CallKind, callKinds, costOf } from './call-kinds.js';
import { judge, type Reference } from './judge.js';
import type { Outcome } from './outcome.js';

const find = (isStream: boolean): CallKind =>
  callKinds.find((kind) => kind.model === 'sandbox/story' && kind.isStream === isStream && kind.disconnectsAfter === undefined)!;
const [stream, whole] = [find(true), find(false)];
const reference: Reference = { text: 'a story of forty tokens', tokens: { input: 9, output: 40 } };
const price = { input: 100_000_000n, output: 400_000_000n, request: 5000n };
const fullCharge = costOf(reference.tokens, price);
const accountId = 'acct_1';

const full: Outcome = {
  clientId: 'client-1',
  kind: stream,
  requestId: 'req_1',
  idempotencyKey: undefined,
  originalRequestId: undefined,
  beganAtMs: 0,
  endedAtMs: 1,
  status: 200,
  how: 'whole',
  reason: undefined,
  retryAfter: undefined,
  text: reference.text,
  deltas: 40,
  reported: reference.tokens,
};
const cut: Outcome = { ...full, how: 'cut', text: 'a story', deltas: 2, reported: undefined };
const refused: Outcome = { ...cut, how: 'refused', status: 503, text: '', deltas: 0 };

const record = {
  id: 'req_1',
  account_id: accountId,
  client_request_id: 'client-1',
  outcome: 'completed',
  input_tokens: 9,
  output_tokens: 40,
  charge_nano_usd: String(fullCharge),
  captured_nano_usd: String(fullCharge),
  shortfall_nano_usd: '0',
} as RecordRow;
const lost = (charge: bigint): RecordRow => ({
  ...record,
  outcome: 'gateway_lost',
  charge_nano_usd: String(charge),
  captured_nano_usd: String(charge),
});

/** Returns books with these records, and with a matching journal and balance. */
function booksOf(records: readonly RecordRow[], more: Partial<Books> = {}): Books {
  const spent = records.reduce((sum, row) => sum + BigInt(row.charge_nano_usd), 0n);
  const entries = records.map((row) => ({
    id: `ent_${row.id}`,
    kind: 'charge',
    amount_nano_usd: row.charge_nano_usd,
    reference: row.id,
    linked_entry_id: null,
  }));
  return {
    records,
    balances: balanceOf(spent),
    entries: new Map([[accountId, entries.filter(({ amount_nano_usd: amount }) => amount !== '0')]]),
    verification: { ok: true, records_checked: records.length, open_holds: 0, sum_nano_usd: '0' },
    ...more,
  };
}

function balanceOf(spent: bigint): Books['balances'] {
  return new Map([
    [
      accountId,
      { available_nano_usd: '1', held_nano_usd: '0', spent_nano_usd: String(spent), credited_nano_usd: '1' } satisfies BalanceRow,
    ],
  ]);
}

const expectations = {
  prices: new Map([['sandbox/story', price]]),
  references: new Map([
    [stream, reference],
    [whole, reference],
  ]),
  deltasInTransitMax: 3,
};
const violationsOf = (outcomes: readonly Outcome[], books: Books): string[] => judge(outcomes, books, expectations).violations;

describe('the judge', () => {
  it.each<[string, Outcome, readonly RecordRow[]]>([
    ['a full answer, charged in full', full, [record]],
    ['a full answer at its cap', full, [{ ...record, outcome: 'max_tokens' }]],
    ['a cut stream without a record', cut, []],
    ['a cut stream, charged for what was delivered or in transit', cut, [lost(costOf({ input: 9, output: 5 }, price))]],
    ['a cut stream whose model had finished', cut, [record]],
    ['a refused call with a free record', refused, [{ ...lost(0n), outcome: 'gateway_error' }]],
    ['a whole answer that was cut, free', { ...cut, kind: whole, text: '', deltas: 0 }, [lost(0n)]],
    [
      'a caller that disconnected, charged for the full answer',
      { ...cut, how: 'disconnected' },
      [{ ...record, outcome: 'client_disconnected' }],
    ],
  ])('accepts %s', (_, outcome, records) => {
    expect(violationsOf([outcome], booksOf(records))).toEqual([]);
  });

  const less = String(fullCharge - 1n);
  it.each<[string, Outcome, readonly RecordRow[], string]>([
    ['a full answer without a record', full, [], 'a full answer without a record'],
    ['two records of one call', full, [record, { ...record, id: 'req_2' }], 'more than one record'],
    ['a full answer recorded as lost', full, [lost(fullCharge)], 'recorded as gateway_lost'],
    [
      'a charge that is one nano-dollar off',
      full,
      [{ ...record, charge_nano_usd: less, captured_nano_usd: less }],
      'the charge is not tokens × price',
    ],
    ['a record with different tokens', full, [{ ...record, output_tokens: 39 }], 'recorded tokens differ'],
    ['other token counts reported to the client', { ...full, reported: { input: 9, output: 41 } }, [record], 'differ from the model’s'],
    ['a different text', { ...full, text: `${reference.text}!` }, [record], 'a text that differs'],
    ['an end before the text is complete', { ...full, text: 'a story' }, [record], 'incomplete text'],
    ['a captured amount below the charge', full, [{ ...record, captured_nano_usd: less }], 'the captured amount differs'],
    ['a shortfall', full, [{ ...record, shortfall_nano_usd: '1' }], 'a shortfall'],
    ['a charge for a refused call', refused, [record], 'charged for a refused call'],
    [
      'a charge for a whole answer that was not delivered',
      { ...cut, kind: whole },
      [lost(1n)],
      'charged for a whole answer that was not delivered',
    ],
    [
      'a full answer without its request',
      full,
      [{ ...record, charge_nano_usd: String(fullCharge - 5000n), captured_nano_usd: String(fullCharge - 5000n) }],
      'not tokens × price',
    ],
    ['a cut stream without its request', cut, [lost(4999n)], 'charged without its request'],
    ['a cut stream charged beyond its delivery', cut, [lost(costOf({ input: 64, output: 6 }, price))], 'charged more than was delivered'],
    ['a finished answer charged in part', cut, [{ ...record, charge_nano_usd: less, captured_nano_usd: less }], 'not charged in full'],
    ['a call that hung', { ...cut, how: 'hung' }, [], 'never ended'],
    ['a clean end without the last event', { ...cut, how: 'truncated' }, [], 'ended cleanly'],
    ['a record with a different id', full, [{ ...record, id: 'req_2' }], 'a record with a different id'],
    ['a record without a call', full, [record, { ...record, id: 'req_2', client_request_id: 'unknown' }], 'a record without a call'],
  ])('rejects %s', (_, outcome, records, violation) => {
    expect(violationsOf([outcome], booksOf(records)).join('\n')).toContain(violation);
  });

  it('accepts a replayed answer, and detects a replay that was charged', () => {
    const first: Outcome = { ...cut, idempotencyKey: 'key-1' };
    const second: Outcome = { ...full, clientId: 'client-2', requestId: 'req_2', idempotencyKey: 'key-1', originalRequestId: 'req_1' };
    const again: RecordRow = { ...record, id: 'req_2', client_request_id: 'client-2' };
    expect(violationsOf([first, second], booksOf([record]))).toEqual([]);
    expect(violationsOf([first, second], booksOf([])).join('\n')).toContain('a full answer without a record');
    expect(violationsOf([first, second], booksOf([record, again])).join('\n')).toContain('a replayed answer');
    expect(violationsOf([first, { ...second, originalRequestId: undefined }], booksOf([record, again])).join('\n')).toContain(
      'more than one charge under the Idempotency-Key key-1',
    );
  });

  const charge: EntryRow = { id: 'ent_1', kind: 'charge', amount_nano_usd: String(fullCharge), reference: 'req_1', linked_entry_id: null };
  it.each<[string, Partial<Books>, string]>([
    [
      'a charge that is in the journal twice',
      { entries: new Map([[accountId, [charge, { ...charge, id: 'ent_2' }]]]) },
      'the journal charged',
    ],
    [
      'a journal charge for a call without a record',
      { entries: new Map([[accountId, [charge, { ...charge, reference: 'req_9' }]]]) },
      'which has no record',
    ],
    ['a charge that is not in the journal', { entries: new Map([[accountId, []]]) }, 'the journal charged 0'],
    ['spending without a record', { balances: balanceOf(fullCharge + 1n) }, 'has spent'],
    ['drift', { verification: { ok: false, records_checked: 1, open_holds: 0, sum_nano_usd: '0' } }, 'verify reports wrong books'],
    [
      'a hold that is still open',
      { verification: { ok: true, records_checked: 1, open_holds: 1, sum_nano_usd: '0' } },
      'holds are still open',
    ],
    [
      'a verification that misses records',
      { verification: { ok: true, records_checked: 0, open_holds: 0, sum_nano_usd: '0' } },
      'verify checked',
    ],
  ])('rejects %s', (_, books, violation) => {
    expect(violationsOf([full], booksOf([record], books)).join('\n')).toContain(violation);
  });
});
