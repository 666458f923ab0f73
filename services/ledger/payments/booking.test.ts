// A refund that is larger than the available balance is deducted only once, and the missing amount is logged, even if a response of the ledger is lost.
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { AppError } from '#client/errors/app-error.js';
import { callContext } from '#client/call-context.js';
import { dayMs } from '#kit/clock.js';
import { newId } from '#kit/id.js';
import { testEngines } from '#kit/testing/database.js';
import { startTestLedger, type TestLedger } from '../testing/ledger.js';
import { book, type BookingDeps } from './booking.js';
import type { Paid, PaymentEvent } from './provider.js';

// Each test creates a database.
jest.setTimeout(60_000);

/** Returns the event of a refund of the whole payment. */
function refunded(payment: Paid, eventId: string, createdAtMs: number): PaymentEvent {
  const { amountNanoUsd } = payment;
  return { kind: 'refunded', refundId: 'ch_1:5000', eventId, createdAtMs, amountNanoUsd, payment };
}

describe.each(testEngines)('a refund that failed at the payer’s bank and was made again on %s', (engine) => {
  let ledger: TestLedger;

  beforeEach(async () => {
    ledger = await startTestLedger(engine);
  });

  afterEach(() => ledger.stop());

  it('is deducted again, each refund once', async () => {
    const { service, log, clock } = ledger;
    const accountId = newId('acct');
    const payment = { paymentId: 'cs_1', accountId, amountNanoUsd: 50_000_000_000n };
    const send = (event: PaymentEvent): Promise<void> =>
      book('stripe', event, callContext({ caller: 'gateway' }), { log, ledger: service });
    const available = async () => (await service.getBalance({ accountId })).balance!.availableNanoUsd;
    await send({ kind: 'paid', ...payment });
    const first = refunded(payment, 'evt_1', clock.nowMs());
    clock.advance(60_000);
    await send(first);
    // Providers may create two events for the same refund.
    await send(refunded(payment, 'evt_2', clock.nowMs() + 60_000));
    expect(await available()).toBe(0n);
    clock.advance(5 * dayMs);
    await service.adjust({ idempotencyKey: 'failed', accountId, amountNanoUsd: 50_000_000_000n, reason: 'failed', linkedEntryId: '' });
    await send(first);
    expect(await available()).toBe(50_000_000_000n);
    const again = refunded(payment, 'evt_3', clock.nowMs());
    await send(again);
    await send(again);
    expect(await available()).toBe(0n);
    expect((await service.verify({ accountId })).drifts).toEqual([]);
  });
});

describe.each(testEngines)('a refund that is larger than the available balance on %s', (engine) => {
  let ledger: TestLedger;
  let accountId: string;

  beforeEach(async () => {
    ledger = await startTestLedger(engine);
    accountId = newId('acct');
  });

  afterEach(() => ledger.stop());

  const missing = (): unknown[] =>
    ledger.logLines
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ msg }) => String(msg).startsWith('a refund was larger'))
      .map(({ missing_usd }) => missing_usd);

  it('logs the missing amount when the provider sends it again after a lost response', async () => {
    const { service, log } = ledger;
    const payment = { paymentId: 'cs_1', accountId, amountNanoUsd: 50_000_000_000n };
    const event = refunded(payment, 'evt_1', ledger.clock.nowMs());
    let losesResponses = true;
    const deps: BookingDeps = {
      log,
      ledger: {
        ...service,
        async adjust(request, context) {
          const response = await service.adjust(request, context);
          if (losesResponses) throw new AppError('service_unavailable', 'The response was lost.');
          return response;
        },
      },
    };
    await book('stripe', { kind: 'paid', ...payment }, callContext({ caller: 'gateway' }), deps);
    await service.adjust({ idempotencyKey: 'spent', accountId, amountNanoUsd: -42_000_000_000n, reason: 'spent', linkedEntryId: '' });
    const send = (): Promise<void> => book('stripe', event, callContext({ caller: 'gateway' }), deps);
    await expect(send()).rejects.toMatchObject({ reason: 'service_unavailable' });
    losesResponses = false;
    await send();
    expect((await service.getBalance({ accountId })).balance).toMatchObject({ availableNanoUsd: 0n });
    expect(missing()).toEqual(['42']);
  });
});
