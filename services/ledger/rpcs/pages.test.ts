// Holds by id and by pages, and the journal by pages, return everything once and nothing else.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { newId } from '#kit/id.js';
import { testEngines } from '#kit/testing/database.js';
import { failureOf } from '#kit/testing/waiting.js';
import { ListEntriesRequest } from '#proto/ledger/v1/ledger.js';
import { startTestLedger, type TestLedger } from '../testing/ledger.js';
import { type Customer, fundedCustomer, holdRequest, settleRequest } from '../testing/requests.js';

describe.each(testEngines)('pages on %s', (engine) => {
  let ledger: TestLedger;
  let customers: Customer[];
  const made: { accountId: string; holdId: string; atMs: number }[] = [];

  beforeEach(async () => {
    ledger = await startTestLedger(engine);
    customers = [
      await fundedCustomer(ledger.service, 1_000_000n),
      await fundedCustomer(ledger.service, 2_000_000n),
      await fundedCustomer(ledger.service, 3_000_000n),
    ];
    made.length = 0;
    for (let index = 0; index < 30; index += 1) {
      const customer = customers[index % 3]!;
      const atMs = 1_800_000_000_000 + index * 1000;
      const holdId = newId('req', atMs);
      await ledger.service.hold({ ...holdRequest(customer, 100n), holdId });
      if (index % 2 === 0) await ledger.service.settle(settleRequest(customer, holdId, 70n + BigInt(index)));
      made.push({ accountId: customer.accountId, holdId, atMs });
    }
  }, 30_000);

  afterEach(() => ledger.stop());

  async function allHolds(filter: { accountId?: string; fromMs?: bigint; untilMs?: bigint } = {}): Promise<string[]> {
    const ids: string[] = [];
    let pageToken = '';
    do {
      const page = await ledger.service.listHolds({ accountId: '', fromMs: 0n, untilMs: 0n, ...filter, pageSize: 4, pageToken });
      ids.push(...page.holds.map((hold) => hold.id));
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    return ids;
  }

  it('of holds have each hold once, of all accounts or one, within an interval', async () => {
    const sorted = (ids: string[]): string[] => ids.toSorted();
    expect(sorted(await allHolds())).toEqual(sorted(made.map(({ holdId }) => holdId)));
    const { accountId } = customers[1]!;
    expect(await allHolds({ accountId })).toEqual(made.filter((hold) => hold.accountId === accountId).map(({ holdId }) => holdId));
    const [fromMs, untilMs] = [1_800_000_005_000, 1_800_000_020_000];
    expect(sorted(await allHolds({ fromMs: BigInt(fromMs), untilMs: BigInt(untilMs) }))).toEqual(
      sorted(made.filter(({ atMs }) => atMs >= fromMs && atMs < untilMs).map(({ holdId }) => holdId)),
    );
  });

  it('are not needed for holds whose ids are known', async () => {
    const names = made.map(({ accountId, holdId }) => ({ accountId, holdId }));
    const strangers = [
      { accountId: customers[0]!.accountId, holdId: made[1]!.holdId },
      { accountId: newId('acct'), holdId: newId('req') },
    ];
    const { holds } = await ledger.service.batchGetHolds({ items: [...names, ...strangers] });
    expect(holds.map(({ accountId, id }) => ({ accountId, holdId: id })).toSorted((a, b) => (a.holdId < b.holdId ? -1 : 1))).toEqual(names);
    expect((await failureOf(ledger.service.batchGetHolds({ items: Array.from({ length: 501 }, () => names[0]!) }))).reason).toBe(
      'invalid_request',
    );
  });

  it('of the journal have each entry once, in order, and add up to the balances', async () => {
    const spent = new Map<string, bigint>();
    const lastSeq = new Map<string, bigint>();
    let pageToken = '';
    let entries = 0;
    do {
      const page = await ledger.service.listJournal({ accountId: '', fromMs: 0n, untilMs: 0n, pageSize: 4, pageToken });
      for (const entry of page.entries) {
        entries += 1;
        expect(entry.seq).toBe((lastSeq.get(entry.accountId) ?? 0n) + 1n);
        lastSeq.set(entry.accountId, entry.seq);
        if (entry.keyId !== '') spent.set(entry.accountId, (spent.get(entry.accountId) ?? 0n) + entry.amountNanoUsd);
      }
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    expect(entries).toBe(18);
    for (const { accountId } of customers) {
      const { balance } = await ledger.service.getBalance({ accountId });
      expect({ spent: spent.get(accountId), seq: lastSeq.get(accountId) }).toEqual({ spent: balance!.spentNanoUsd, seq: balance!.seq });
    }
    const { accountId } = customers[0]!;
    const one = await ledger.service.listJournal({ accountId, fromMs: 0n, untilMs: 0n, pageSize: 0, pageToken: '' });
    expect(one.entries.map((entry) => entry.seq)).toEqual([1n, 2n, 3n, 4n, 5n, 6n]);
    expect(one.nextPageToken).toBe('');
    const nowMs = BigInt(ledger.clock.nowMs());
    expect(
      (await ledger.service.listJournal({ accountId: '', fromMs: nowMs + 1n, untilMs: 0n, pageSize: 0, pageToken: '' })).entries,
    ).toEqual([]);
    expect((await ledger.service.listJournal({ accountId: '', fromMs: 0n, untilMs: nowMs, pageSize: 0, pageToken: '' })).entries).toEqual(
      [],
    );
  });

  it('reject tokens that were never issued', async () => {
    for (const pageToken of ['x', 'AAAA', 'ff ff']) {
      expect((await failureOf(ledger.service.listHolds({ accountId: '', fromMs: 0n, untilMs: 0n, pageSize: 1, pageToken }))).reason).toBe(
        'invalid_request',
      );
      expect((await failureOf(ledger.service.listJournal({ accountId: '', fromMs: 0n, untilMs: 0n, pageSize: 1, pageToken }))).reason).toBe(
        'invalid_request',
      );
    }
  });

  it('of balances have the balance of each account, in the requested order', async () => {
    const unknown = newId('acct');
    const ids = [customers[2]!.accountId, unknown, customers[0]!.accountId, customers[2]!.accountId];
    const { balances } = await ledger.service.batchGetBalances({ accountIds: ids });
    const alone = await Promise.all(ids.map(async (accountId) => (await ledger.service.getBalance({ accountId })).balance));
    expect(balances).toEqual(alone);
    expect(balances[1]).toMatchObject({ accountId: unknown, availableNanoUsd: 0n });
    expect((await failureOf(ledger.service.batchGetBalances({ accountIds: [] }))).reason).toBe('invalid_request');
  });

  it('of the journal have each entry by its id, for its own account only', async () => {
    const [own, other] = customers as [Customer, Customer];
    const { entries } = await ledger.service.listEntries(ListEntriesRequest.fromPartial({ accountId: own.accountId, pageSize: 10 }));
    for (const entry of entries)
      expect((await ledger.service.getEntry({ accountId: own.accountId, entryId: entry.id })).entry).toEqual(entry);
    for (const entryId of [entries[0]!.id.replace(/.$/, (digit) => (digit === 'f' ? '0' : 'f')), 'ent_x', '']) {
      expect(await failureOf(ledger.service.getEntry({ accountId: own.accountId, entryId }))).toMatchObject({
        reason: 'not_found',
        details: { what: 'entry' },
      });
    }
    expect((await failureOf(ledger.service.getEntry({ accountId: other.accountId, entryId: entries[0]!.id }))).reason).toBe('not_found');
  });
});
