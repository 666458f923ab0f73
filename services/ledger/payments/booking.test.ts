// A refund that is larger than the available balance is deducted only once, and the missing amount is logged, even if a response of the ledger is lost.
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { AppError } from '#client/errors/app-error.js';
import { callContext } from '#client/call-context.js';
import { newId } from '#kit/id.js';
import { testEngines } from '#kit/testing/database.js';
import { startTestLedger, type TestLedger } from '../testing/ledger.js';
import { book, type BookingDeps } from './booking.js';
import type { PaymentEvent } from './provider.js';

// Each test creates a database.
jest.setTimeout(60_000);

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
    const event: PaymentEvent = { kind: 'refunded', refundId: 'ch_1:5000', amountNanoUsd: 50_000_000_000n, payment };
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
