// Refunds are deducted once, as far as the balance covers them: even after a failed refund, after the secrets were replaced, or if a response is lost.
import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { AppError } from '#client/errors/app-error.js';
import { callContext } from '#client/call-context.js';
import { dayMs } from '#kit/clock.js';
import { newId } from '#kit/id.js';
import { testEngines } from '#kit/testing/database.js';
import { close, listen } from '#kit/testing/local-server.js';
import { startTestLedger, type TestLedger } from '../testing/ledger.js';
import { depositRequest } from '../testing/requests.js';
import { book, type BookingDeps } from './booking.js';
import type { Paid, PaymentEvent } from './provider.js';
import { stampOf } from './stamp.js';
import { StripeProvider } from './stripe.js';

// Each test creates a database.
jest.setTimeout(60_000);

/** Returns the event of a refund, by default of the whole payment. */
function refunded(
  payment: Paid,
  eventId: string,
  createdAtMs: number,
  amountNanoUsd = payment.amountNanoUsd,
): Extract<PaymentEvent, { kind: 'refunded' }> {
  return { kind: 'refunded', refundId: 'ch_1:5000', eventId, createdAtMs, amountNanoUsd, payment, isStamped: true };
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

describe.each(testEngines)('a refund after both secrets have been replaced on %s', (engine) => {
  let ledger: TestLedger;

  beforeEach(async () => {
    ledger = await startTestLedger(engine);
  });

  afterEach(() => ledger.stop());

  it('is deducted if its payment was credited, and credits nothing otherwise', async () => {
    const { service, log, clock } = ledger;
    const accountId = newId('acct');
    const session = (id: string) => ({
      id,
      mode: 'payment',
      payment_status: 'paid',
      amount_total: 5000,
      currency: 'usd',
      metadata: stampOf(accountId, 'one', ['sk_old', 'whsec_old']),
    });
    const stripe = createServer((request, response) => {
      const id = new URL(request.url!, 'http://stripe.invalid').searchParams.get('payment_intent')!.replace('pi', 'cs');
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ object: 'list', data: [session(id)] }));
    });
    try {
      const apiBase = `http://127.0.0.1:${await listen(stripe)}`;
      const provider = new StripeProvider({ secretKey: 'sk_new', webhookSecret: 'whsec_new', apiBase }, { clock, log });
      const seconds = Math.floor(clock.nowMs() / 1000);
      const refund = async (intent: string): Promise<void> => {
        const charge = {
          id: `ch_${intent}`,
          payment_intent: intent,
          currency: 'usd',
          amount_refunded: 5000,
          metadata: session('').metadata,
        };
        const data = { object: charge, previous_attributes: { amount_refunded: 0 } };
        const body = JSON.stringify({ id: 'evt_1', object: 'event', type: 'charge.refunded', created: seconds, data });
        const signature = createHmac('sha256', 'whsec_new').update(`${seconds}.${body}`).digest('hex');
        const event = await provider.readEvent(Buffer.from(body), `t=${seconds},v1=${signature}`);
        await book('stripe', event, callContext({ caller: 'gateway' }), { log, ledger: service });
      };
      const payment = { paymentId: 'cs_1', accountId, amountNanoUsd: 50_000_000_000n };
      await book('stripe', { kind: 'paid', ...payment }, callContext({ caller: 'gateway' }), { log, ledger: service });
      await refund('pi_2');
      expect((await service.getBalance({ accountId })).balance).toMatchObject({ creditedNanoUsd: 50_000_000_000n, seq: 1n });
      await refund('pi_1');
      expect((await service.getBalance({ accountId })).balance).toMatchObject({ creditedNanoUsd: 0n, seq: 2n });
    } finally {
      await close(stripe);
    }
  });
});

describe.each(testEngines)('a refund of a payment on %s', (engine) => {
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

  const payment = () => ({ paymentId: 'cs_1', accountId, amountNanoUsd: 50_000_000_000n });
  const refund = (amountNanoUsd: bigint): PaymentEvent => refunded(payment(), 'evt_1', ledger.clock.nowMs(), amountNanoUsd);
  const context = callContext({ caller: 'gateway' });
  const available = async () => (await ledger.service.getBalance({ accountId })).balance!.availableNanoUsd;

  it('is deducted from its payment in the name of the provider, even if its event arrives first', async () => {
    const { service, log } = ledger;
    const callers: string[] = [];
    const deps: BookingDeps = {
      log,
      ledger: {
        ...service,
        async deposit(request, by) {
          callers.push(by!.caller);
          return service.deposit(request, by);
        },
        async adjust(request, by) {
          callers.push(by!.caller);
          return service.adjust(request, by);
        },
      },
    };
    await book('stripe', refund(20_000_000_000n), context, deps);
    await book('stripe', { kind: 'paid', ...payment() }, context, deps);
    expect([await available(), missing(), new Set(callers)]).toEqual([30_000_000_000n, [], new Set(['stripe'])]);
  });

  it('is deducted once if the provider creates two events for it', async () => {
    const deps = { ledger: ledger.service, log: ledger.log };
    await ledger.service.deposit(depositRequest({ accountId, keyId: '' }, 100_000_000_000n));
    await book('stripe', refund(20_000_000_000n), context, deps);
    await book('stripe', refunded(payment(), 'evt_2', ledger.clock.nowMs() + 60_000, 20_000_000_000n), context, deps);
    expect(await available()).toBe(130_000_000_000n);
  });

  it.each(['adjust', 'getEntryByIdempotencyKey'] as const)('is reported again while the ledger does not respond to %s', async (rpc) => {
    const { service, log } = ledger;
    const away = (): never => {
      throw new AppError('service_unavailable', 'Unavailable.');
    };
    // Without a stamp, only the deposit shows that the payment is ours.
    const event: PaymentEvent = { ...refunded(payment(), 'evt_1', ledger.clock.nowMs(), 20_000_000_000n), isStamped: false };
    await book('stripe', { kind: 'paid', ...payment() }, context, { ledger: service, log });
    const failed = book('stripe', event, context, { ledger: { ...service, [rpc]: away }, log });
    await expect(failed).rejects.toMatchObject({ reason: 'service_unavailable' });
    await book('stripe', event, context, { ledger: service, log });
    expect([await available(), missing()]).toEqual([30_000_000_000n, []]);
  });

  it('is deducted once if its event arrives twice at once and the balance grows in between', async () => {
    const { service, log } = ledger;
    await book('stripe', { kind: 'paid', ...payment() }, context, { ledger: service, log });
    await service.adjust({ idempotencyKey: 'spent', accountId, amountNanoUsd: -42_000_000_000n, reason: 'spent', linkedEntryId: '' });
    const deps: BookingDeps = {
      log,
      ledger: {
        ...service,
        async getBalance(request) {
          // The other delivery takes the 8 USD that are left, and a user pays 5.
          await book('stripe', refund(50_000_000_000n), context, { ledger: service, log });
          await service.deposit(depositRequest({ accountId, keyId: '' }, 5_000_000_000n));
          return service.getBalance(request);
        },
      },
    };
    await book('stripe', refund(50_000_000_000n), context, deps);
    expect([await available(), missing()]).toEqual([5_000_000_000n, ['42', '42']]);
  });

  it('is logged as missing where nothing is left', async () => {
    const { service, log } = ledger;
    await book('stripe', { kind: 'paid', ...payment() }, context, { ledger: service, log });
    await service.adjust({ idempotencyKey: 'spent', accountId, amountNanoUsd: -50_000_000_000n, reason: 'spent', linkedEntryId: '' });
    await book('stripe', refund(20_000_000_000n), context, { ledger: service, log });
    expect([await available(), missing()]).toEqual([0n, ['20']]);
  });

  it('takes no more than was refunded if the balance grows meanwhile', async () => {
    const { service, log } = ledger;
    let hasFailed = false;
    const deps: BookingDeps = {
      log,
      ledger: {
        ...service,
        async adjust(request, by) {
          if (hasFailed) return service.adjust(request, by);
          hasFailed = true;
          throw new AppError('balance_empty', 'Too low.');
        },
      },
    };
    await book('stripe', refund(20_000_000_000n), context, deps);
    expect(await available()).toBe(30_000_000_000n);
  });
});
