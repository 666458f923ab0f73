// A judge that finds nothing proves nothing: each rule is shown a bill that breaks it.
import { describe, expect, it } from '@jest/globals';
import type { BalanceRow } from '../support/calls.js';
import type { Books, EntryRow, RecordRow } from './books.js';
import { type CallKind, callKinds, costOf } from './call-kinds.js';
import { judge, type Reference } from './judge.js';
import type { Outcome } from './outcome.js';

const find = (isStream: boolean): CallKind =>
  callKinds.find((kind) => kind.model === 'sandbox/story' && kind.isStream === isStream && kind.leavesAfter === undefined)!;
const [stream, whole] = [find(true), find(false)];
const reference: Reference = { text: 'a story of forty tokens', tokens: { input: 9, output: 40 } };
const price = { input: 100_000_000n, output: 400_000_000n };
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
  told: reference.tokens,
};
const cut: Outcome = { ...full, how: 'cut', text: 'a story', deltas: 2, told: undefined };
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

/** Books with these records, and a journal and a balance that fit them. */
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
  deltasOnTheWayMax: 3,
};
const violationsOf = (outcomes: readonly Outcome[], books: Books): string[] => judge(outcomes, books, expectations).violations;

describe('the judge', () => {
  it.each<[string, Outcome, readonly RecordRow[]]>([
    ['a full answer, charged in full', full, [record]],
    ['a full answer at its cap', full, [{ ...record, outcome: 'max_tokens' }]],
    ['a cut stream without a record', cut, []],
    ['a cut stream, charged for what was delivered and on its way', cut, [lost(costOf({ input: 9, output: 5 }, price))]],
    ['a cut stream whose model was done', cut, [record]],
    ['a refused call with a free record', refused, [{ ...lost(0n), outcome: 'gateway_error' }]],
    ['a whole answer that was cut, free', { ...cut, kind: whole, text: '', deltas: 0 }, [lost(0n)]],
    ['a caller that left, charged for all that it asked for', { ...cut, how: 'left' }, [{ ...record, outcome: 'client_disconnected' }]],
  ])('has nothing against %s', (_, outcome, records) => {
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
      'charge is not tokens × price',
    ],
    ['a record of other tokens', full, [{ ...record, output_tokens: 39 }], 'recorded tokens are not those'],
    ['a client that was told other tokens', { ...full, told: { input: 9, output: 41 } }, [record], 'told other figures'],
    ['another text', { ...full, text: `${reference.text}!` }, [record], 'a text that the model never wrote'],
    ['an end before the text is whole', { ...full, text: 'a story' }, [record], 'a whole answer that is not whole'],
    ['money taken for less than the charge', full, [{ ...record, captured_nano_usd: less }], 'captured is not what was charged'],
    ['a shortfall', full, [{ ...record, shortfall_nano_usd: '1' }], 'a shortfall'],
    ['a charge for a refused call', refused, [record], 'charged for a refused call'],
    [
      'a charge for a whole answer that never left',
      { ...cut, kind: whole },
      [lost(1n)],
      'charged for a whole answer that was not delivered',
    ],
    ['a cut stream charged beyond its delivery', cut, [lost(costOf({ input: 64, output: 6 }, price))], 'charged more than was delivered'],
    ['a finished answer charged in part', cut, [{ ...record, charge_nano_usd: less, captured_nano_usd: less }], 'not charged in full'],
    ['a call that hung', { ...cut, how: 'hung' }, [], 'never ended'],
    ['a clean end without an end', { ...cut, how: 'silent' }, [], 'a clean end'],
    ['a record of another id', full, [{ ...record, id: 'req_2' }], 'a record of another id'],
    ['a record of no call', full, [record, { ...record, id: 'req_2', client_request_id: 'somebody' }], 'a record of no call'],
  ])('objects to %s', (_, outcome, records, violation) => {
    expect(violationsOf([outcome], booksOf(records)).join('\n')).toContain(violation);
  });

  it('lets an answer be given again, and objects to one that was charged again', () => {
    const first: Outcome = { ...cut, idempotencyKey: 'key-1' };
    const second: Outcome = { ...full, clientId: 'client-2', requestId: 'req_2', idempotencyKey: 'key-1', originalRequestId: 'req_1' };
    const again: RecordRow = { ...record, id: 'req_2', client_request_id: 'client-2' };
    expect(violationsOf([first, second], booksOf([record]))).toEqual([]);
    expect(violationsOf([first, second], booksOf([])).join('\n')).toContain('a full answer without a record');
    expect(violationsOf([first, second], booksOf([record, again])).join('\n')).toContain('only given again');
    expect(violationsOf([first, { ...second, originalRequestId: undefined }], booksOf([record, again])).join('\n')).toContain(
      'more than one charge under the Idempotency-Key key-1',
    );
  });

  const charge: EntryRow = { id: 'ent_1', kind: 'charge', amount_nano_usd: String(fullCharge), reference: 'req_1', linked_entry_id: null };
  it.each<[string, Partial<Books>, string]>([
    ['a charge that the journal took twice', { entries: new Map([[accountId, [charge, { ...charge, id: 'ent_2' }]]]) }, 'the journal took'],
    [
      'money taken for a call without a record',
      { entries: new Map([[accountId, [charge, { ...charge, reference: 'req_9' }]]]) },
      'which has no record',
    ],
    ['a charge that the journal never took', { entries: new Map([[accountId, []]]) }, 'the journal took 0'],
    ['spending that no record explains', { balances: balanceOf(fullCharge + 1n) }, 'has spent'],
    ['drift', { verification: { ok: false, records_checked: 1, open_holds: 0, sum_nano_usd: '0' } }, 'verify finds the books wrong'],
    [
      'a hold that is still open',
      { verification: { ok: true, records_checked: 1, open_holds: 1, sum_nano_usd: '0' } },
      'holds are still open',
    ],
    [
      'a verification that overlooks records',
      { verification: { ok: true, records_checked: 0, open_holds: 0, sum_nano_usd: '0' } },
      'verify has looked at',
    ],
  ])('objects to %s', (_, books, violation) => {
    expect(violationsOf([full], booksOf([record], books)).join('\n')).toContain(violation);
  });
});
