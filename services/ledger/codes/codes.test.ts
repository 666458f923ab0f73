// A code credits one account once, however many accounts try it and however often, and whatever fails in between.
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { AuditOutbox } from '#kit/audit/audit-outbox.js';
import { dayMs } from '#kit/clock.js';
import { newId } from '#kit/id.js';
import { testEngines } from '#kit/testing/database.js';
import { eventually, failureOf } from '#kit/testing/waiting.js';
import {
  BookAccount,
  CreateRedemptionCodesRequest,
  EntryKind,
  ListRedemptionCodesRequest,
  type RedemptionCode,
  RedemptionCodeState as State,
} from '#proto/ledger/v1/ledger.js';
import { Codes } from '../store/codes.js';
import { Reads } from '../store/reads.js';
import { startTestLedger, type TestLedger } from '../testing/ledger.js';
import { depositRequest, newCustomer } from '../testing/requests.js';
import { hashOfCode, readCode } from './code-secret.js';
import { completeClaims, orphansMax, refusalsMax, refusalWindowMs } from './redeem.js';

// Many requests at once, on machines that are busy with other work.
jest.setTimeout(60_000);

describe.each(testEngines)('redemption codes on %s', (engine) => {
  let ledger: TestLedger;

  beforeEach(async () => {
    ledger = await startTestLedger(engine);
  }, 60_000);

  afterEach(() => ledger.stop());

  const make = (fields: Partial<CreateRedemptionCodesRequest> = {}) =>
    ledger.service.createRedemptionCodes(
      CreateRedemptionCodesRequest.fromPartial({ batchId: newId('batch'), amountNanoUsd: 50n, count: 1, ...fields }),
    );
  const redeem = (accountId: string, secret: string) => ledger.service.redeemCode({ accountId, secret });
  const list = async (fields: Partial<ListRedemptionCodesRequest> = {}): Promise<RedemptionCode[]> =>
    (await ledger.service.listRedemptionCodes(ListRedemptionCodesRequest.fromPartial(fields))).codes;
  const balanceOf = async (accountId: string) => (await ledger.service.getBalance({ accountId })).balance!;

  it('credit the account as a promotion, and are then used', async () => {
    const { accountId } = newCustomer();
    const {
      codes: [made],
      secrets: [secret],
      replayed,
    } = await make({ note: 'conference', createdBy: 'ada@example.com' });
    expect(replayed).toBe(false);
    expect(made).toMatchObject({
      amountNanoUsd: 50n,
      note: 'conference',
      createdBy: 'ada@example.com',
      state: State.REDEMPTION_CODE_STATE_OPEN,
      lastFour: secret!.slice(-4),
      accountId: '',
      entryId: '',
    });
    const first = await redeem(accountId, secret!.toLowerCase());
    expect(first).toMatchObject({
      replayed: false,
      entry: {
        kind: EntryKind.ENTRY_KIND_DEPOSIT,
        debit: BookAccount.BOOK_ACCOUNT_PROMOTION,
        amountNanoUsd: 50n,
        reference: `redemption ${made!.id}`,
      },
      balance: { availableNanoUsd: 50n },
    });
    expect(first.entry!.reason).toBe(`redemption code ending in ${made!.lastFour}`);
    expect(await redeem(accountId, secret!)).toEqual({ ...first, replayed: true });
    expect((await failureOf(redeem(newCustomer().accountId, secret!))).reason).toBe('code_refused');
    expect(await list()).toEqual([
      {
        ...made,
        state: State.REDEMPTION_CODE_STATE_REDEEMED,
        accountId,
        entryId: first.entry!.id,
        endedAtMs: BigInt(ledger.clock.nowMs()),
      },
    ]);
    expect((await ledger.service.verify({ accountId: '' })).drifts).toEqual([]);
  });

  it('credit once when twenty accounts try one at once, and when one account tries twenty times', async () => {
    // A SQLite file has one process; another would wait for its locks for seconds.
    const services = [ledger.service, engine === 'mysql' ? await ledger.startReplica() : ledger.service];
    const { secrets } = await make({ count: 2 });
    const strangers = Array.from({ length: 20 }, () => newCustomer().accountId);
    const raced = await Promise.allSettled(
      strangers.map((accountId, index) => services[index % 2]!.redeemCode({ accountId, secret: secrets[0]! })),
    );
    expect(raced.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const credited = await Promise.all(strangers.map(async (accountId) => (await balanceOf(accountId)).creditedNanoUsd));
    expect(credited.filter((amount) => amount !== 0n)).toEqual([50n]);
    const { accountId } = newCustomer();
    const repeated = await Promise.all(
      Array.from({ length: 20 }, (_, index) => services[index % 2]!.redeemCode({ accountId, secret: secrets[1]! })),
    );
    expect(new Set(repeated.map(({ entry }) => entry!.id)).size).toBe(1);
    expect(repeated.filter(({ replayed }) => !replayed)).toHaveLength(1);
    expect(await balanceOf(accountId)).toMatchObject({ creditedNanoUsd: 50n, seq: 1n });
  });

  it('whose deposit was interrupted are deposited once, by a repeat or by the sweeper', async () => {
    const { secrets } = await make({ count: 2 });
    const [left, repeated] = [newCustomer().accountId, newCustomer().accountId];
    const codes = new Codes(ledger.db);
    const claim = (secret: string, accountId: string) => codes.claim(hashOfCode(readCode(secret)!), accountId, ledger.clock.nowMs());
    expect([await claim(secrets[0]!, left), await claim(secrets[1]!, repeated)]).toEqual([true, true]);
    expect(await redeem(repeated, secrets[1]!)).toMatchObject({ replayed: false, balance: { creditedNanoUsd: 50n } });
    const deps = {
      lane: { add: () => Promise.reject(new Error('Nothing is left to deposit.')), idle: async () => undefined, waiting: 0 },
      log: ledger.log,
      codes,
      clock: ledger.clock,
      auditLog: new AuditOutbox({ db: ledger.db, receiver: ledger.auth, caller: 'ledger', clock: ledger.clock, log: ledger.log }),
    };
    // A fresh claim is assumed to be still in progress.
    expect(await completeClaims(deps)).toBe(0);
    ledger.clock.advance(60_000);
    await expect(completeClaims(deps)).rejects.toThrow('Nothing is left');
    // A process sweeps immediately when it starts.
    await ledger.startReplica();
    await eventually(async () => ((await list({ state: State.REDEMPTION_CODE_STATE_CLAIMED })).length === 0 ? true : undefined));
    expect(await balanceOf(left)).toMatchObject({ creditedNanoUsd: 50n, seq: 1n });
    expect(await redeem(left, secrets[0]!)).toMatchObject({ replayed: true, balance: { creditedNanoUsd: 50n } });
    expect(await completeClaims(deps)).toBe(0);
  });

  it('whose deposit cannot be made do not delay others', async () => {
    // The codes whose deposits cannot be made come first, and are as many as the sweeper reads at a time.
    const { secrets: stuck } = await make({ count: orphansMax });
    ledger.clock.advance(1000);
    const { secrets } = await make();
    const [full, other] = [newCustomer(), newCustomer()];
    for (let deposits = 0; deposits < 9; deposits += 1)
      await ledger.service.deposit(depositRequest(full, 1_000_000_000_000_000_000n, { idempotencyKey: `d${deposits}` }));
    const codes = new Codes(ledger.db);
    const claim = (secret: string, accountId: string) => codes.claim(hashOfCode(readCode(secret)!), accountId, ledger.clock.nowMs());
    for (const secret of stuck) await claim(secret, full.accountId);
    await claim(secrets[0]!, other.accountId);
    ledger.clock.advance(60_000);
    await ledger.startReplica();
    await eventually(async () => ((await balanceOf(other.accountId)).creditedNanoUsd > 0n ? true : undefined));
    expect(await balanceOf(other.accountId)).toMatchObject({ creditedNanoUsd: 50n });
    expect(await balanceOf(full.accountId)).toMatchObject({ seq: 9n });
  });

  it('are refused when they are unknown, void or expired, in the same words', async () => {
    const { accountId } = newCustomer();
    const { codes, secrets } = await make({ count: 3, expiresAtMs: BigInt(ledger.clock.nowMs() + 1_000) });
    expect(await ledger.service.voidRedemptionCodes({ id: codes[0]!.id })).toEqual({ voided: 1 });
    expect(await ledger.service.voidRedemptionCodes({ id: codes[0]!.id })).toEqual({ voided: 0 });
    await redeem(accountId, secrets[1]!);
    ledger.clock.advance(1_000);
    const refused = await Promise.all(
      [secrets[0]!, secrets[2]!, 'TGC-00000-00000-00000-00000', 'not a code'].map((secret) => failureOf(redeem(accountId, secret))),
    );
    expect(new Set(refused.map(({ message }) => message)).size).toBe(1);
    expect(refused.map(({ reason }) => reason)).toEqual(Array(4).fill('code_refused'));
    // A repeat after the expiry finds the earlier result.
    expect(await redeem(accountId, secrets[1]!)).toMatchObject({ replayed: true });
    expect((await failureOf(ledger.service.voidRedemptionCodes({ id: codes[1]!.id }))).reason).toBe('failed_precondition');
    for (const voided of [1, 0]) expect(await ledger.service.voidRedemptionCodes({ id: codes[0]!.batchId })).toEqual({ voided });
    for (const id of [newId('code'), newId('batch')])
      expect((await failureOf(ledger.service.voidRedemptionCodes({ id }))).reason).toBe('not_found');
    expect(await balanceOf(accountId)).toMatchObject({ creditedNanoUsd: 50n });
  });

  it('cannot be guessed for long: the account that tries is throttled, and no other', async () => {
    const [{ accountId }, mistyped] = [newCustomer(), newCustomer()];
    const { secrets } = await make();
    await failureOf(redeem(mistyped.accountId, 'guess'));
    for (let attempt = 0; attempt < refusalsMax; attempt += 1)
      expect((await failureOf(redeem(accountId, `guess ${attempt}`))).reason).toBe('code_refused');
    expect(await failureOf(redeem(accountId, secrets[0]!))).toMatchObject({ reason: 'code_throttled', retryAfterMs: refusalWindowMs });
    for (const other of [mistyped, newCustomer()]) expect((await failureOf(redeem(other.accountId, 'guess'))).reason).toBe('code_refused');
    ledger.clock.advance(refusalWindowMs);
    expect(await redeem(accountId, secrets[0]!)).toMatchObject({ replayed: false });
  });

  it('can be redeemed after the time of day was far ahead and is set back', async () => {
    const { accountId } = newCustomer();
    const { secrets } = await make();
    ledger.clock.step(365 * dayMs);
    for (let attempt = 0; attempt < refusalsMax; attempt += 1) await failureOf(redeem(accountId, `guess ${attempt}`));
    ledger.clock.step(-365 * dayMs);
    expect(await redeem(accountId, secrets[0]!)).toMatchObject({ replayed: false });
  });

  it('cannot be guessed more often by trying several at once, even with two replicas', async () => {
    const services = [ledger.service, engine === 'mysql' ? await ledger.startReplica() : ledger.service];
    const { accountId } = newCustomer();
    const guess = (attempt: number) =>
      failureOf(services[attempt % 2]!.redeemCode({ accountId, secret: `TGC-00000-00000-00000-000${10 + attempt}` }));
    for (let window = 0; window < 2; window += 1) {
      const refused = await Promise.all(Array.from({ length: 3 * refusalsMax }, (_, attempt) => guess(attempt)));
      expect(refused.filter(({ reason }) => reason === 'code_refused')).toHaveLength(refusalsMax);
      expect(refused.filter(({ reason }) => reason === 'code_throttled')).toHaveLength(2 * refusalsMax);
      ledger.clock.advance(refusalWindowMs);
    }
  });

  it('are created once per batch id, and their secrets are nowhere in the database', async () => {
    const batchId = newId('batch');
    const asked = { batchId, count: 5, amountNanoUsd: 7n, note: 'n' };
    const [one, other] = await Promise.all([make(asked), make(asked)]);
    const [first, again] = one.replayed ? [other, one] : [one, other];
    expect(first).toMatchObject({ replayed: false });
    expect(again).toEqual({ codes: first.codes, secrets: [], replayed: true });
    for (const changes of [{ amountNanoUsd: 8n }, { count: 4 }, { note: 'm' }, { expiresAtMs: BigInt(ledger.clock.nowMs() + dayMs) }])
      expect((await failureOf(make({ ...asked, ...changes }))).reason).toBe('idempotency_mismatch');
    const stored = JSON.stringify(await ledger.db.knex('redemption_code').select(), (_, value) =>
      typeof value === 'bigint' ? String(value) : value,
    );
    for (const secret of first.secrets) {
      expect(stored).not.toContain(readCode(secret)!);
      expect(ledger.logLines.join()).not.toContain(secret);
    }
    const [newest, next] = [
      await list({ pageSize: 3 }),
      await ledger.service.listRedemptionCodes(ListRedemptionCodesRequest.fromPartial({ pageSize: 3 })),
    ];
    const rest = await list({ pageSize: 3, pageToken: next.nextPageToken });
    expect(newest).toHaveLength(3);
    expect([...newest, ...rest].map(({ id }) => id).toSorted()).toEqual(first.codes.map(({ id }) => id).toSorted());
    expect(await list({ batchId: newId('batch') })).toEqual([]);
  });

  it('are in the audit log when they are created or voided, each change once', async () => {
    const { codes } = await make({ count: 2, note: 'conference' });
    const { id, batchId } = codes[0]!;
    await make({ batchId, count: 2, note: 'conference' });
    for (const each of [id, id, batchId, batchId]) await ledger.service.voidRedemptionCodes({ id: each });
    await make({ count: 1, expiresAtMs: BigInt(ledger.clock.nowMs() + dayMs) });
    const events = await eventually(async () => (ledger.auth.events.length >= 4 ? ledger.auth.events : undefined));
    const expiresAt = new Date(ledger.clock.nowMs() + dayMs).toISOString();
    expect(events.map(({ action, targetId, detailJson }) => [action, targetId, JSON.parse(detailJson) as unknown])).toEqual([
      ['code.create', batchId, { amount_usd: '0.00000005', count: 2, expires_at: null, note: 'conference' }],
      ['code.void', id, { voided: 1 }],
      ['code.void', batchId, { voided: 1 }],
      ['code.create', expect.any(String), { amount_usd: '0.00000005', count: 1, expires_at: expiresAt, note: '' }],
    ]);
  });

  it('are refused with the field at fault', async () => {
    for (const [field, fields] of [
      ['batch_id', { batchId: 'mine' }],
      ['amount_nano_usd', { amountNanoUsd: 0n }],
      ['count', { count: 501 }],
      ['note', { note: 'x'.repeat(201) }],
      ['expires_at_ms', { expiresAtMs: BigInt(ledger.clock.nowMs()) }],
      ['expires_at_ms', { expiresAtMs: 2n ** 48n }],
    ] as const) {
      expect(await failureOf(make(fields))).toMatchObject({ reason: 'invalid_request', details: { field } });
    }
  });

  it('are not entries until they are redeemed, so that the books stay correct', async () => {
    await make({ count: 10 });
    const { accountId } = newCustomer();
    await ledger.service.deposit(depositRequest({ accountId, keyId: '' }, 5n));
    expect(await ledger.service.verify({ accountId: '' })).toMatchObject({ entriesChecked: 1n, drifts: [], sumNanoUsd: 0n });
    expect(await new Reads(ledger.db).account(accountId)).toMatchObject({ creditedNanoUsd: 5n });
  });
});
