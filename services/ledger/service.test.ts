import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { callContext } from '#client/call-context.js';
import { newId } from '#kit/id.js';
import { testEngines } from '#kit/testing/database.js';
import { BookAccount, DepositSource, EntryKind, HoldState, ListEntriesRequest, type VerifyResponse } from '#proto/ledger/v1/ledger.js';
import { startTestLedger, type TestLedger } from './testing/ledger.js';
import { depositRequest, fundedCustomer, holdRequest, newCustomer, refundRequest, refusalOf, settleRequest } from './testing/requests.js';

describe.each(testEngines)('the ledger on %s', (engine) => {
  let ledger: TestLedger;

  beforeAll(async () => {
    ledger = await startTestLedger(engine);
  });

  afterAll(() => ledger.stop());

  const balanceOf = async (accountId: string) => (await ledger.service.getBalance({ accountId })).balance!;
  const entriesOf = async (accountId: string) =>
    (await ledger.service.listEntries(ListEntriesRequest.fromPartial({ accountId, pageSize: 0, pageToken: '' }))).entries;
  const verify = (accountId: string): Promise<VerifyResponse> => ledger.service.verify({ accountId });

  it('takes a call from deposit through hold and checkpoint to settlement', async () => {
    const customer = await fundedCustomer(ledger.service, 1_000n);
    const { hold } = await ledger.service.hold(holdRequest(customer, 400n));
    expect(await balanceOf(customer.accountId)).toMatchObject({ creditedNanoUsd: 1_000n, heldNanoUsd: 400n, availableNanoUsd: 600n });
    const { renewed } = await ledger.service.checkpoint({
      items: [{ holdId: hold!.id, accountId: customer.accountId, costSoFarNanoUsd: 100n, ttlMs: 60_000 }],
    });
    expect(renewed).toEqual([true]);
    const settled = await ledger.service.settle(settleRequest(customer, hold!.id, 150n));
    expect(settled).toMatchObject({
      replayed: false,
      hold: { state: HoldState.HOLD_STATE_SETTLED, capturedNanoUsd: 150n, shortfallNanoUsd: 0n },
    });
    expect(await balanceOf(customer.accountId)).toMatchObject({ spentNanoUsd: 150n, heldNanoUsd: 0n, availableNanoUsd: 850n, seq: 2n });
    const { keys } = await ledger.service.listKeySpend({ accountId: customer.accountId, keyIds: [] });
    expect(keys).toEqual([{ keyId: customer.keyId, spentNanoUsd: 150n, heldNanoUsd: 0n, limitNanoUsd: undefined }]);
    expect(await verify(customer.accountId)).toMatchObject({
      accountsChecked: 1n,
      entriesChecked: 2n,
      openHolds: 0n,
      sumNanoUsd: 0n,
      drifts: [],
    });
  });

  it('sends the response of a hold before it is durable, where the database shows that', async () => {
    const customer = await fundedCustomer(ledger.service, 100n);
    const provisional: unknown[] = [];
    const context = callContext({ caller: 'gateway', onProvisional: (response) => provisional.push(response) });
    const response = await ledger.service.hold(holdRequest(customer, 100n), context);
    expect(response.hold).toMatchObject({ amountNanoUsd: 100n });
    // The same object, which a transport need not send twice.
    if (engine === 'sqlite') expect(provisional[0]).toBe(response);
    else expect(provisional).toEqual([]);
  });

  it('books every transfer with both of its sides', async () => {
    const customer = await fundedCustomer(ledger.service, 100n);
    const { hold } = await ledger.service.hold(holdRequest(customer, 100n));
    await ledger.service.settle(settleRequest(customer, hold!.id, 130n));
    const gift = depositRequest(customer, 50n, { source: DepositSource.DEPOSIT_SOURCE_PROMOTION, reason: 'welcome ' });
    await ledger.service.deposit(gift);
    const entries = await entriesOf(customer.accountId);
    const { BOOK_ACCOUNT_CUSTOMER, BOOK_ACCOUNT_CASH, BOOK_ACCOUNT_PROMOTION, BOOK_ACCOUNT_REVENUE, BOOK_ACCOUNT_SHORTFALL_EXPENSE } =
      BookAccount;
    expect(entries.map(({ seq, debit, credit, amountNanoUsd }) => [seq, debit, credit, amountNanoUsd])).toEqual([
      [4n, BOOK_ACCOUNT_PROMOTION, BOOK_ACCOUNT_CUSTOMER, 50n],
      [3n, BOOK_ACCOUNT_SHORTFALL_EXPENSE, BOOK_ACCOUNT_REVENUE, 30n],
      [2n, BOOK_ACCOUNT_CUSTOMER, BOOK_ACCOUNT_REVENUE, 100n],
      [1n, BOOK_ACCOUNT_CASH, BOOK_ACCOUNT_CUSTOMER, 100n],
    ]);
    expect(entries[0]).toMatchObject({
      reference: gift.idempotencyKey,
      reason: 'welcome ',
      keyId: '',
      creditedAfterNanoUsd: 150n,
      spentAfterNanoUsd: 100n,
    });
    expect(entries[2]).toMatchObject({
      reference: hold!.id,
      keyId: customer.keyId,
      kind: EntryKind.ENTRY_KIND_CHARGE,
      heldAfterNanoUsd: 0n,
    });
    expect(ledger.logLines.some((line) => line.includes(hold!.id) && line.includes('"shortfall_nano_usd":"30"'))).toBe(true);
  });

  it('refunds a charge once, however many callers request it at once', async () => {
    const customer = await fundedCustomer(ledger.service, 1_000n);
    const { hold } = await ledger.service.hold(holdRequest(customer, 100n));
    await ledger.service.settle(settleRequest(customer, hold!.id, 70n));
    const outcomes = await Promise.allSettled(
      Array.from({ length: 20 }, () => ledger.service.refund(refundRequest(customer, hold!.id, 20n))),
    );
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
    const rest = refundRequest(customer, hold!.id, undefined, { reason: 'the rest' });
    const last = await ledger.service.refund(rest);
    expect(last).toMatchObject({
      replayed: false,
      entry: { amountNanoUsd: 10n, reason: 'the rest', reference: hold!.id },
      balance: { spentNanoUsd: 0n },
    });
    expect(await ledger.service.refund(rest)).toEqual({ ...last, replayed: true });
    const entries = await entriesOf(customer.accountId);
    const charge = entries.find(({ kind }) => kind === EntryKind.ENTRY_KIND_CHARGE)!;
    expect(entries.filter(({ linkedEntryId }) => linkedEntryId === charge.id)).toHaveLength(4);
    expect((await ledger.service.getHold({ accountId: customer.accountId, holdId: hold!.id })).hold).toMatchObject({
      capturedNanoUsd: 70n,
      refundedNanoUsd: 70n,
    });
    expect((await ledger.service.listKeySpend({ accountId: customer.accountId, keyIds: [] })).keys).toMatchObject([{ spentNanoUsd: 0n }]);
    expect((await verify(customer.accountId)).drifts).toEqual([]);
    expect(await refusalOf(ledger.service.refund(refundRequest(customer, hold!.id, 1n)))).toMatchObject({
      reason: 'failed_precondition',
      details: { refundable_nano_usd: '0' },
    });
  });

  it('returns the first outcome for a repeated deposit, and refuses a different one under its key', async () => {
    const customer = newCustomer();
    const request = depositRequest(customer, 70n, { reason: 'invoice 7' });
    const first = await ledger.service.deposit(request);
    await ledger.service.deposit(depositRequest(customer, 1n));
    expect(await ledger.service.deposit(request)).toEqual({ ...first, replayed: true });
    expect(await refusalOf(ledger.service.deposit({ ...request, amountNanoUsd: 71n }))).toMatchObject({
      reason: 'idempotency_mismatch',
      message: `The idempotency key "${request.idempotencyKey}" was already used with different parameters. Nothing was changed.`,
    });
    // MySQL compares texts without their trailing spaces; to a caller these are two keys.
    await ledger.service.deposit({ ...request, idempotencyKey: `${request.idempotencyKey} ` });
    expect(await balanceOf(customer.accountId)).toMatchObject({ creditedNanoUsd: 141n, seq: 3n });
  });

  it('links an adjustment to the entry it corrects, and refuses a link to an unknown entry', async () => {
    const customer = await fundedCustomer(ledger.service, 100n);
    const [deposit] = await entriesOf(customer.accountId);
    const request = {
      idempotencyKey: 'correction',
      accountId: customer.accountId,
      amountNanoUsd: -40n,
      reason: 'typed wrong',
      linkedEntryId: deposit!.id,
    };
    const adjusted = await ledger.service.adjust(request);
    expect(adjusted).toMatchObject({
      entry: { linkedEntryId: deposit!.id, amountNanoUsd: 40n },
      balance: { creditedNanoUsd: 60n, availableNanoUsd: 60n },
    });
    expect(await ledger.service.adjust(request)).toEqual({ ...adjusted, replayed: true });
    const stranger = await fundedCustomer(ledger.service, 1n);
    const [foreign] = await entriesOf(stranger.accountId);
    // The numbers of the other two are 0 and the greatest that an id can hold.
    const ownDigits = deposit!.id.slice(0, 20);
    for (const linkedEntryId of [foreign!.id, ownDigits + '0'.repeat(16), ownDigits + 'f'.repeat(16)]) {
      const link = { ...request, idempotencyKey: 'other', linkedEntryId };
      expect((await refusalOf(ledger.service.adjust(link))).reason).toBe('not_found');
    }
    expect((await verify(customer.accountId)).drifts).toEqual([]);
  });

  it('reverses a refund against the key and the call, so that the call can be refunded again', async () => {
    const customer = await fundedCustomer(ledger.service, 1_000n);
    const { accountId, keyId } = customer;
    const { hold } = await ledger.service.hold(holdRequest(customer, 100n));
    await ledger.service.settle(settleRequest(customer, hold!.id, 70n));
    const { entry: refund } = await ledger.service.refund(refundRequest(customer, hold!.id, 30n));
    const request = { idempotencyKey: 'undo', accountId, entryId: refund!.id, reason: 'the wrong call' };
    const reversed = await ledger.service.reverse(request);
    expect(reversed).toMatchObject({
      replayed: false,
      entry: { kind: EntryKind.ENTRY_KIND_REFUND_REVERSAL, amountNanoUsd: 30n, linkedEntryId: refund!.id, reference: hold!.id, keyId },
      balance: { spentNanoUsd: 70n },
    });
    expect(await ledger.service.reverse(request)).toEqual({ ...reversed, replayed: true });
    expect(await refusalOf(ledger.service.reverse({ ...request, reason: 'another' }))).toMatchObject({
      reason: 'idempotency_mismatch',
      message: 'Entry no. 3 was already reversed by entry no. 4. Nothing was changed.',
    });
    expect((await refusalOf(ledger.service.reverse({ ...request, idempotencyKey: 'twice' }))).message).toBe(
      'Entry no. 3 has already been corrected in full. Entries that correct it: no. 4.',
    );
    expect((await ledger.service.listKeySpend({ accountId, keyIds: [] })).keys).toMatchObject([{ spentNanoUsd: 70n }]);
    expect((await ledger.service.getHold({ accountId, holdId: hold!.id })).hold).toMatchObject({ refundedNanoUsd: 0n });
    expect(await ledger.service.getEntry({ accountId, entryId: refund!.id })).toMatchObject({
      corrections: [{ seq: 4n }],
      reversibleNanoUsd: 0n,
    });
    expect((await verify(accountId)).drifts).toEqual([]);
    await ledger.service.refund(refundRequest(customer, hold!.id, 70n));
    expect((await verify(accountId)).drifts).toEqual([]);
    expect((await refusalOf(ledger.service.reverse({ ...request, idempotencyKey: 'back', entryId: reversed.entry!.id }))).message).toBe(
      `The reversal of a refund cannot be reversed. Refund the call ${hold!.id} again instead.`,
    );
  });

  it('reverses what linked entries have left of a deposit, once, however many callers request it at once', async () => {
    const customer = await fundedCustomer(ledger.service, 100n);
    const { accountId } = customer;
    await ledger.service.deposit(depositRequest(customer, 500n));
    const [, deposit] = await entriesOf(accountId);
    const entryId = deposit!.id;
    const correction = { idempotencyKey: 'refunded', accountId, amountNanoUsd: -40n, reason: 'refunded', linkedEntryId: entryId };
    await ledger.service.adjust(correction);
    expect(await ledger.service.getEntry({ accountId, entryId })).toMatchObject({
      corrections: [{ amountNanoUsd: 40n }],
      reversibleNanoUsd: 60n,
    });
    const outcomes = await Promise.allSettled(
      Array.from({ length: 5 }, (_, index) => ledger.service.reverse({ idempotencyKey: `r${index}`, accountId, entryId, reason: 'wrong' })),
    );
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await balanceOf(accountId)).toMatchObject({ availableNanoUsd: 500n });
    const [reversal] = await entriesOf(accountId);
    expect(reversal).toMatchObject({ kind: EntryKind.ENTRY_KIND_ADJUSTMENT, amountNanoUsd: 60n, linkedEntryId: entryId });
    // The reversal was a mistake: reversed itself, it leaves of the deposit what was left before.
    await ledger.service.reverse({ idempotencyKey: 'undo', accountId, entryId: reversal!.id, reason: 'not wrong' });
    expect(await ledger.service.getEntry({ accountId, entryId })).toMatchObject({
      corrections: [{ seq: 3n }, { seq: 4n }, { seq: 5n }],
      reversibleNanoUsd: 60n,
    });
    expect((await verify(accountId)).drifts).toEqual([]);
  });

  it('returns a zero balance for an account without deposits, and stores no rows for it', async () => {
    const customer = newCustomer();
    expect(await balanceOf(customer.accountId)).toMatchObject({ creditedNanoUsd: 0n, availableNanoUsd: 0n, seq: 0n });
    expect((await refusalOf(ledger.service.hold(holdRequest(customer, 1n)))).reason).toBe('balance_empty');
    expect((await verify(customer.accountId)).accountsChecked).toBe(0n);
  });

  it('refuses a hold that arrives after its release', async () => {
    const customer = await fundedCustomer(ledger.service, 100n);
    const request = holdRequest(customer, 10n);
    const name = { holdId: request.holdId, accountId: customer.accountId };
    expect(await ledger.service.release(name)).toEqual({ hold: undefined });
    expect(await ledger.service.release(name)).toEqual({ hold: undefined });
    expect((await refusalOf(ledger.service.hold(request))).reason).toBe('hold_closed');
    expect(await balanceOf(customer.accountId)).toMatchObject({ heldNanoUsd: 0n, availableNanoUsd: 100n });
  });

  it('charges a hold that its database lost to metering, which has the record, and to no other caller', async () => {
    const customer = await fundedCustomer(ledger.service, 100n);
    const lost = newId('req');
    expect((await refusalOf(ledger.service.settle(settleRequest(customer, lost, 30n), callContext({ caller: 'operator' })))).reason).toBe(
      'not_found',
    );
    const metering = callContext({ caller: 'metering' });
    expect((await refusalOf(ledger.service.settle({ ...settleRequest(customer, lost, 30n), keyId: '' }, metering))).details).toEqual({
      field: 'key_id',
    });
    const settled = await ledger.service.settle(settleRequest(customer, lost, 130n), metering);
    expect(settled.hold).toMatchObject({ state: HoldState.HOLD_STATE_SETTLED, capturedNanoUsd: 100n, shortfallNanoUsd: 30n });
    expect(await ledger.service.settle(settleRequest(customer, lost, 130n), metering)).toEqual({ ...settled, replayed: true });
    expect((await verify(customer.accountId)).drifts).toEqual([]);
  });

  it('records checkpoints of many accounts, each with its own outcome in the order of the request', async () => {
    const customers = await Promise.all(Array.from({ length: 3 }, () => fundedCustomer(ledger.service, 1_000n)));
    const holds = await Promise.all(customers.map(async (customer) => (await ledger.service.hold(holdRequest(customer, 500n))).hold!));
    await ledger.service.release({ holdId: holds[1]!.id, accountId: holds[1]!.accountId });
    const items = Array.from({ length: 450 }, (_, index) => {
      const hold = holds[index % 3]!;
      return { holdId: hold.id, accountId: hold.accountId, costSoFarNanoUsd: BigInt(index), ttlMs: 120_000 };
    });
    const { renewed } = await ledger.service.checkpoint({ items });
    expect(renewed).toEqual(items.map((_, index) => index % 3 !== 1));
    const { hold } = await ledger.service.getHold({ holdId: holds[2]!.id, accountId: holds[2]!.accountId });
    expect(hold).toMatchObject({ checkpointNanoUsd: 449n, expiresAtMs: BigInt(ledger.clock.nowMs() + 120_000) });
  });

  it('ends expired holds at their last checkpoint, and none within the clock skew', async () => {
    const customer = await fundedCustomer(ledger.service, 1_000n);
    const { hold } = await ledger.service.hold(holdRequest(customer, 500n, { ttlMs: 1_000 }));
    await ledger.service.checkpoint({ items: [{ holdId: hold!.id, accountId: customer.accountId, costSoFarNanoUsd: 120n, ttlMs: 1_000 }] });
    ledger.clock.advance(1_499);
    expect((await ledger.service.expireHolds({ limit: 0 })).expired).toEqual([]);
    ledger.clock.advance(1);
    const { expired } = await ledger.service.expireHolds({ limit: 0 });
    expect(expired).toMatchObject([{ id: hold!.id, state: HoldState.HOLD_STATE_EXPIRED, capturedNanoUsd: 120n }]);
    expect((await ledger.service.expireHolds({ limit: 0 })).expired).toEqual([]);
    expect(await balanceOf(customer.accountId)).toMatchObject({ spentNanoUsd: 120n, heldNanoUsd: 0n });
  });

  it('returns what expiry captured in excess, linked to the charge', async () => {
    const customer = await fundedCustomer(ledger.service, 1_000n);
    const { hold } = await ledger.service.hold(holdRequest(customer, 500n, { ttlMs: 1_000 }));
    await ledger.service.checkpoint({ items: [{ holdId: hold!.id, accountId: customer.accountId, costSoFarNanoUsd: 120n, ttlMs: 1_000 }] });
    ledger.clock.advance(10_000);
    await ledger.service.expireHolds({ limit: 0 });
    const settled = await ledger.service.settle(settleRequest(customer, hold!.id, 90n));
    expect(settled.hold).toMatchObject({ capturedNanoUsd: 90n, state: HoldState.HOLD_STATE_SETTLED });
    const [refund, charge] = await entriesOf(customer.accountId);
    expect(refund).toMatchObject({
      kind: EntryKind.ENTRY_KIND_CHARGE_CORRECTION,
      amountNanoUsd: 30n,
      linkedEntryId: charge!.id,
      spentAfterNanoUsd: 90n,
    });
    const { keys } = await ledger.service.listKeySpend({ accountId: customer.accountId, keyIds: [customer.keyId] });
    expect(keys[0]!.spentNanoUsd).toBe(90n);
    const reversal = { idempotencyKey: 'undo', accountId: customer.accountId, entryId: refund!.id, reason: 'why' };
    expect((await refusalOf(ledger.service.reverse(reversal))).message).toBe(
      'A charge correction cannot be reversed: the call cost less than was charged. Debit the account instead.',
    );
    expect((await verify(customer.accountId)).drifts).toEqual([]);
  });

  it('refunds each charge of a call that was settled after its hold had expired, linked to that charge', async () => {
    const customer = await fundedCustomer(ledger.service, 1_000n);
    const { hold } = await ledger.service.hold(holdRequest(customer, 500n, { ttlMs: 1_000 }));
    await ledger.service.checkpoint({ items: [{ holdId: hold!.id, accountId: customer.accountId, costSoFarNanoUsd: 120n, ttlMs: 1_000 }] });
    ledger.clock.advance(10_000);
    await ledger.service.expireHolds({ limit: 0 });
    await ledger.service.settle(settleRequest(customer, hold!.id, 200n));
    const [second, first, deposit] = await entriesOf(customer.accountId);
    await ledger.service.refund(refundRequest(customer, hold!.id, 30n));
    const reversal = refundRequest(customer, hold!.id, undefined, { chargeEntryId: first!.id });
    const reversed = await ledger.service.refund(reversal);
    expect(reversed.entry).toMatchObject({ amountNanoUsd: 120n, linkedEntryId: first!.id });
    expect(await ledger.service.refund(reversal)).toEqual({ ...reversed, replayed: true });
    const rest = await ledger.service.refund(refundRequest(customer, hold!.id, undefined, { chargeEntryId: second!.id }));
    expect(rest.entry).toMatchObject({ amountNanoUsd: 50n, linkedEntryId: second!.id });
    const { hold: other } = await ledger.service.hold(holdRequest(customer, 10n));
    await ledger.service.settle(settleRequest(customer, other!.id, 10n));
    const [charge] = await entriesOf(customer.accountId);
    for (const chargeEntryId of [deposit!.id, reversed.entry!.id, charge!.id, 'ent_1'])
      expect(await refusalOf(ledger.service.refund(refundRequest(customer, hold!.id, 1n, { chargeEntryId })))).toMatchObject({
        reason: 'not_found',
      });
    expect((await verify(customer.accountId)).drifts).toEqual([]);
  });

  it('lists open holds, oldest first, and only those', async () => {
    const customer = await fundedCustomer(ledger.service, 1_000n);
    const ids: string[] = [];
    for (let index = 0; index < 3; index += 1) {
      ledger.clock.advance(1);
      ids.push((await ledger.service.hold(holdRequest(customer, 10n))).hold!.id);
    }
    await ledger.service.settle(settleRequest(customer, ids[1]!, 0n));
    const list = async (pageSize: number, pageToken = '') => {
      const { holds, nextPageToken } = await ledger.service.listOpenHolds({ accountId: customer.accountId, pageSize, pageToken });
      return { ids: holds.map((hold) => hold.id), nextPageToken };
    };
    expect(await list(0)).toEqual({ ids: [ids[0], ids[2]], nextPageToken: '' });
    expect(await list(2)).toEqual({ ids: [ids[0], ids[2]], nextPageToken: '' });
    const first = await list(1);
    expect(first.ids).toEqual([ids[0]]);
    // Two holds of the same millisecond, and one that ends between two pages.
    const same = [
      (await ledger.service.hold(holdRequest(customer, 10n))).hold!.id,
      (await ledger.service.hold(holdRequest(customer, 10n))).hold!.id,
    ];
    await ledger.service.settle(settleRequest(customer, ids[0]!, 0n));
    const later: string[] = [];
    let { nextPageToken } = first;
    while (nextPageToken !== '') {
      const page = await list(1, nextPageToken);
      later.push(...page.ids);
      ({ nextPageToken } = page);
    }
    expect(later).toEqual([ids[2]!, ...same].toSorted());
  });

  it('pages through the journal without repeating or missing an entry while entries are added', async () => {
    const customer = await fundedCustomer(ledger.service, 1n);
    for (let index = 0; index < 4; index += 1) await ledger.service.deposit(depositRequest(customer, 1n));
    const seqs: bigint[] = [];
    let pageToken = '';
    do {
      const page = await ledger.service.listEntries(
        ListEntriesRequest.fromPartial({ accountId: customer.accountId, pageSize: 2, pageToken }),
      );
      seqs.push(...page.entries.map((entry) => entry.seq));
      pageToken = page.nextPageToken;
      await ledger.service.deposit(depositRequest(customer, 1n));
    } while (pageToken !== '');
    expect(seqs).toEqual([5n, 4n, 3n, 2n, 1n]);
  });

  it('returns the spend of keys requested by id, zero for one never used', async () => {
    const customer = await fundedCustomer(ledger.service, 100n);
    await ledger.service.hold(holdRequest(customer, 10n, { keyLimit: { limitNanoUsd: 80n, version: 3n } }));
    const unused = newId('key');
    const { keys } = await ledger.service.listKeySpend({ accountId: customer.accountId, keyIds: [unused, customer.keyId] });
    expect(keys).toEqual([
      { keyId: unused, spentNanoUsd: 0n, heldNanoUsd: 0n, limitNanoUsd: undefined },
      { keyId: customer.keyId, spentNanoUsd: 0n, heldNanoUsd: 10n, limitNanoUsd: 80n },
    ]);
  });
});
