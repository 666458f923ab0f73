// On SQLite, each page is read from where the previous one ended, and accounts are found without reading all of their rows.
import { expect, it } from '@jest/globals';
import { newId } from '#kit/id.js';
import { doublyBound, notingTexts, plansOf } from '#kit/testing/statements.js';
import { quietConfig, startTestLedger } from '../testing/ledger.js';
import { fundedCustomer, holdRequest, settleRequest } from '../testing/requests.js';
import { Audit } from './audit.js';
import { Pages } from './pages.js';

it('enters a key where a page begins', async () => {
  const ledger = await startTestLedger('sqlite', quietConfig);
  try {
    const { service, clock } = ledger;
    const customers = [await fundedCustomer(service, 1_000n), await fundedCustomer(service, 1_000n)];
    for (const customer of customers) {
      for (let count = 0; count < 2; count += 1) {
        const { hold } = await service.hold(holdRequest(customer, 10n, { holdId: newId('req', clock.nowMs()) }));
        await service.settle(settleRequest(customer, hold!.id, 5n));
      }
    }
    const { db, texts } = notingTexts(ledger.db);
    const pages = new Pages(db);
    const extent = { accountId: undefined, fromMs: clock.nowMs() - 1000, untilMs: clock.nowMs() + 1000 };
    const seqs: bigint[] = [];
    const accounts: string[] = [];
    const { next: afterHold } = await pages.holdsAfter(extent, undefined, 1);
    expect((await pages.holdsAfter(extent, afterHold, 10)).holds).toHaveLength(3);
    for (let place: Awaited<ReturnType<Pages['entriesAfter']>>['next'], isFirst = true; isFirst || place !== undefined; isFirst = false) {
      const { entries, next } = await pages.entriesAfter({ ...extent, fromMs: 0, untilMs: 0 }, place, 2);
      seqs.push(...entries.map(({ seq }) => seq));
      place = next;
    }
    for (let last: string | undefined, count = 0; count < 3; count += 1) {
      [last] = await new Audit(db).accountIdsAfter(last, 1);
      if (last !== undefined) accounts.push(last);
    }
    expect(seqs).toEqual([1n, 2n, 3n, 1n, 2n, 3n]);
    expect(accounts).toEqual(customers.map(({ accountId }) => accountId).sort());
    const reads = texts.filter((text) => /from `?(hold|journal|bucket)\b/i.test(text));
    expect(reads.length).toBeGreaterThan(10);
    expect(reads.filter((text) => doublyBound(text).length > 0)).toEqual([]);
    const search = /^SEARCH \w+ USING (COVERING INDEX \w+|PRIMARY KEY) \(slot=\?/;
    const scans = [...(await plansOf(db, reads))].filter((step) => !search.test(step));
    // The first page of the whole journal begins at the beginning.
    expect(scans.sort()).toEqual(['SCAN journal', 'SEARCH journal USING PRIMARY KEY (slot>?)']);
  } finally {
    await ledger.stop();
  }
});
