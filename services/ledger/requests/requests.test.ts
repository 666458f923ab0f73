// Requests that are rejected before any lookup, each with the field to correct.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '#kit/id.js';
import { DepositSource, type LedgerService, ListEntriesRequest } from '#proto/ledger/v1/ledger.js';
import { startTestLedger, type TestLedger } from '../testing/ledger.js';
import { depositRequest, holdRequest, newCustomer, refusalOf, settleRequest } from '../testing/requests.js';

const customer = newCustomer();
const { accountId, keyId } = customer;
const holdId = newId('req');
const item = { holdId, accountId, costSoFarNanoUsd: 0n, ttlMs: 1_000 };
const adjustment = { idempotencyKey: 'k', accountId, amountNanoUsd: 1n, reason: 'why', linkedEntryId: '' };
const tooMuch = 1_000_000_000_000_000_001n;

const cases: [string, (service: LedgerService) => Promise<unknown>][] = [
  ['hold_id', (service) => service.hold(holdRequest(customer, 1n, { holdId: 'req_1' }))],
  ['account_id', (service) => service.hold(holdRequest(customer, 1n, { accountId: keyId }))],
  ['key_id', (service) => service.hold(holdRequest(customer, 1n, { keyId: '' }))],
  ['key_limit', (service) => service.hold(holdRequest(customer, 1n, { keyLimit: undefined }))],
  ['key_limit.limit_nano_usd', (service) => service.hold(holdRequest(customer, 1n, { keyLimit: { limitNanoUsd: -1n, version: 1n } }))],
  ['key_limit.version', (service) => service.hold(holdRequest(customer, 1n, { keyLimit: { limitNanoUsd: 1n, version: -1n } }))],
  ['amount_nano_usd', (service) => service.hold(holdRequest(customer, -1n))],
  ['amount_nano_usd', (service) => service.hold(holdRequest(customer, tooMuch))],
  ['min_amount_nano_usd', (service) => service.hold(holdRequest(customer, 5n, { minAmountNanoUsd: 0n }))],
  ['min_amount_nano_usd', (service) => service.hold(holdRequest(customer, 5n, { minAmountNanoUsd: 6n }))],
  ['ttl_ms', (service) => service.hold(holdRequest(customer, 5n, { ttlMs: 999 }))],
  ['ttl_ms', (service) => service.hold(holdRequest(customer, 5n, { ttlMs: 3_600_001 }))],
  ['items[1].cost_so_far_nano_usd', (service) => service.checkpoint({ items: [item, { ...item, costSoFarNanoUsd: -1n }] })],
  ['items[0].ttl_ms', (service) => service.checkpoint({ items: [{ ...item, ttlMs: 0 }] })],
  ['items', (service) => service.checkpoint({ items: Array.from({ length: 10_001 }, () => item) })],
  ['cost_nano_usd', (service) => service.settle(settleRequest(customer, holdId, -1n))],
  ['key_id', (service) => service.settle({ ...settleRequest(customer, holdId, 1n), keyId: accountId })],
  ['hold_id', (service) => service.release({ holdId: '', accountId })],
  ['limit', (service) => service.expireHolds({ limit: 1_001 })],
  ['idempotency_key', (service) => service.deposit(depositRequest(customer, 1n, { idempotencyKey: '' }))],
  ['idempotency_key', (service) => service.deposit(depositRequest(customer, 1n, { idempotencyKey: 'k'.repeat(201) }))],
  ['amount_nano_usd', (service) => service.deposit(depositRequest(customer, 0n))],
  ['source', (service) => service.deposit(depositRequest(customer, 1n, { source: DepositSource.DEPOSIT_SOURCE_UNSPECIFIED }))],
  ['reason', (service) => service.deposit(depositRequest(customer, 1n, { reason: 'r'.repeat(501) }))],
  ['amount_nano_usd', (service) => service.adjust({ ...adjustment, amountNanoUsd: 0n })],
  ['amount_nano_usd', (service) => service.adjust({ ...adjustment, amountNanoUsd: -tooMuch })],
  ['reason', (service) => service.adjust({ ...adjustment, reason: ' ' })],
  ['amount_nano_usd', (service) => service.adjust({ ...adjustment, linkedEntryId: 'ent_1', paymentRefund: true })],
  ['linked_entry_id', (service) => service.adjust({ ...adjustment, amountNanoUsd: -1n, paymentRefund: true })],
  ['account_id', (service) => service.getBalance({ accountId: '' })],
  ['key_ids[0]', (service) => service.listKeySpend({ accountId, keyIds: ['key'] })],
  ['key_ids', (service) => service.listKeySpend({ accountId, keyIds: Array.from({ length: 1_001 }, () => keyId) })],
  ['hold_id', (service) => service.getHold({ holdId: accountId, accountId })],
  ['page_size', (service) => service.listOpenHolds({ accountId, pageSize: 1_001, pageToken: '' })],
  ['page_token', (service) => service.listOpenHolds({ accountId, pageSize: 0, pageToken: 'x' })],
  ['page_size', (service) => service.listEntries(ListEntriesRequest.fromPartial({ accountId, pageSize: 1_001, pageToken: '' }))],
  ['page_token', (service) => service.listEntries(ListEntriesRequest.fromPartial({ accountId, pageSize: 0, pageToken: '-1' }))],
  [
    'page_token',
    (service) =>
      service.listJournal({ accountId: '', fromMs: 0n, untilMs: 0n, pageSize: 0, pageToken: Buffer.alloc(26, 127).toString('base64url') }),
  ],
  ['account_id', (service) => service.verify({ accountId: 'acct_' })],
];

describe('a request with a bad field', () => {
  let ledger: TestLedger;

  beforeAll(async () => {
    ledger = await startTestLedger('sqlite');
  });

  afterAll(() => ledger.stop());

  it.each(cases)('is rejected with the name of the field: %s', async (field, call) => {
    const { reason, details, message } = await refusalOf(call(ledger.service));
    expect({ reason, field: details['field'] }).toEqual({ reason: 'invalid_request', field });
    expect(message.startsWith(field)).toBe(true);
    expect(message.slice(field.length)).toMatch(/^ (must|is required)/);
  });

  it('is distinguished from a hold that does not exist', async () => {
    expect(await refusalOf(ledger.service.getHold({ holdId, accountId }))).toMatchObject({
      reason: 'not_found',
      details: { what: 'hold' },
    });
  });
});
