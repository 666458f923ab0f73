// Refunds are deducted once, as far as the balance covers them: even after a failed refund, after the secrets were replaced, or if a response is lost.
import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { AppError } from '#client/errors/app-error.js';
import { callContext } from '#client/call-context.js';
import { newId } from '#kit/id.js';
import { collectMetrics } from '#kit/telemetry/metrics.js';
import { testEngines } from '#kit/testing/database.js';
import { close, listen } from '#kit/testing/local-server.js';
import { AccountState } from '#proto/auth/v1/auth.js';
import { BookAccount, EntryKind, ListEntriesRequest } from '#proto/ledger/v1/ledger.js';
import { startTestLedger, type TestLedger } from '../testing/ledger.js';
import { depositRequest } from '../testing/requests.js';
import { book, type BookingDeps } from './booking.js';
import type { Paid, PaymentEvent, Refund } from './provider.js';
import { stampOf } from './stamp.js';
import { StripeProvider } from './stripe.js';

// Each test creates a database.
jest.setTimeout(60_000);

/** Returns the event of a payment with these refunds, by default one of the whole payment. */
function refunded(
  payment: Paid,
  refunds: readonly Refund[] = [{ refundId: 're_1', amountNanoUsd: payment.amountNanoUsd, hasFailed: false }],
): Extract<PaymentEvent, { kind: 'refunded' }> {
  return { kind: 'refunded', eventId: 'evt_1', payment, isStamped: true, refunds };
}

/** Returns the cases that an operator must review, in order. */
function reviewsOf({ logLines }: TestLedger): Record<string, unknown>[] {
  return logLines.map((line) => JSON.parse(line) as Record<string, unknown>).filter(({ review }) => review !== undefined);
}

const context = callContext({ caller: 'gateway' });
const accounts: BookingDeps['accounts'] = { getAccountState: async () => ({ state: AccountState.ACCOUNT_STATE_ACTIVE }) };

describe.each(testEngines)('a refund that failed and was made again on %s', (engine) => {
  let ledger: TestLedger;
  let payment: Paid;

  beforeEach(async () => {
    ledger = await startTestLedger(engine);
    payment = { paymentId: 'cs_1', accountId: newId('acct'), amountNanoUsd: 50_000_000_000n };
    await send({ kind: 'paid', ...payment });
  });

  afterEach(() => ledger.stop());

  const send = (event: PaymentEvent): Promise<void> =>
    book('stripe', event, context, { log: ledger.log, ledger: ledger.service, accounts });
  const available = async () => (await ledger.service.getBalance({ accountId: payment.accountId })).balance!.availableNanoUsd;
  const depositId = async () =>
    (await ledger.service.getEntryByIdempotencyKey({ accountId: payment.accountId, idempotencyKey: 'stripe:cs_1' })).entry!.id;
  const creditBack = async (amountNanoUsd: bigint): Promise<void> => {
    const idempotencyKey = newId('req');
    const { accountId } = payment;
    await ledger.service.adjust({ idempotencyKey, accountId, amountNanoUsd, reason: 'failed', linkedEntryId: await depositId() });
  };
  const cashNanoUsd = async (): Promise<bigint> => {
    const { entries } = await ledger.service.listEntries(ListEntriesRequest.fromPartial({ accountId: payment.accountId }));
    const { BOOK_ACCOUNT_CASH: cash } = BookAccount;
    return entries.reduce((sum, { debit, credit, amountNanoUsd: amount }) => {
      if (debit === cash) return sum + amount;
      return credit === cash ? sum - amount : sum;
    }, 0n);
  };
  const usd = (amount: number): bigint => BigInt(amount) * 1_000_000_000n;
  /** Sends the event of the payment with these refunds, in USD; those that failed are negative. */
  const sendRefunds = (refunds: Record<string, number>): Promise<void> =>
    send(
      refunded(
        payment,
        Object.entries(refunds).map(([refundId, amount]) => ({ refundId, amountNanoUsd: usd(Math.abs(amount)), hasFailed: amount < 0 })),
      ),
    );

  it('is deducted again within a day, each refund once by its own id', async () => {
    const { service } = ledger;
    await sendRefunds({ re_1: 5 });
    await sendRefunds({ re_1: 5 });
    expect(await available()).toBe(usd(45));
    await creditBack(usd(5));
    await sendRefunds({ re_1: -5, re_2: 5 });
    await sendRefunds({ re_1: -5, re_2: 5 });
    expect(await available()).toBe(usd(45));
    // The operator has not credited re_2 back yet, and two others are made instead.
    await sendRefunds({ re_1: -5, re_2: -5, re_3: 3 });
    await sendRefunds({ re_1: -5, re_2: -5, re_3: 3, re_4: 2 });
    expect([await available(), reviewsOf(ledger)]).toEqual([usd(40), []]);
    await creditBack(usd(5));
    await sendRefunds({ re_1: -5, re_2: -5, re_3: 3, re_4: 2 });
    expect([await available(), reviewsOf(ledger)]).toEqual([usd(45), []]);
    const { entry } = await service.getEntryByIdempotencyKey({ accountId: payment.accountId, idempotencyKey: 'stripe:re_4' });
    const { ENTRY_KIND_PAYMENT_REFUND: kind } = EntryKind;
    expect(entry).toMatchObject({ kind, reason: 'refund of stripe cs_1 (re_4)', linkedEntryId: await depositId() });
    expect((await service.verify({ accountId: payment.accountId })).drifts).toEqual([]);
  });

  it('is deducted again after the operator has reversed its entry, and the book CASH contains what the payer has not received back', async () => {
    const { service } = ledger;
    const { accountId } = payment;
    await sendRefunds({ re_1: 5 });
    const { entry } = await service.getEntryByIdempotencyKey({ accountId, idempotencyKey: 'stripe:re_1' });
    const reversal = { idempotencyKey: 'failed', accountId, entryId: entry!.id, amountNanoUsd: undefined, reason: 're_1 failed' };
    expect((await service.reverse(reversal)).entry).toMatchObject({ kind: EntryKind.ENTRY_KIND_PAYMENT_REFUND_REVERSAL });
    expect([await available(), await cashNanoUsd()]).toEqual([usd(50), usd(50)]);
    for (let times = 0; times < 2; times += 1) await sendRefunds({ re_1: -5, re_2: 8 });
    expect([await available(), await cashNanoUsd(), reviewsOf(ledger)]).toEqual([usd(42), usd(42), []]);
    expect(await service.reverse(reversal)).toMatchObject({ replayed: true });
    expect(await service.getEntry({ accountId, entryId: entry!.id })).toMatchObject({ reversibleNanoUsd: 0n });
    expect((await service.verify({ accountId })).drifts).toEqual([]);
  });

  it('is deducted once if it was booked as an adjustment with its key', async () => {
    const { accountId } = payment;
    const fields = { accountId, reason: 'refund of stripe cs_1 (re_1)', linkedEntryId: await depositId() };
    await ledger.service.adjust({ ...fields, idempotencyKey: 'stripe:re_1', amountNanoUsd: -usd(5) });
    await sendRefunds({ re_1: 5 });
    await sendRefunds({ re_1: 5, re_2: 3 });
    expect([await available(), reviewsOf(ledger)]).toEqual([usd(42), []]);
  });

  it('is deducted with other refunds of the payment, whichever event arrives first', async () => {
    await sendRefunds({ re_1: 5, re_2: 3 });
    await sendRefunds({ re_1: 5 });
    expect(await available()).toBe(usd(42));
  });

  it('is not deducted if it failed before its event arrived', async () => {
    await sendRefunds({ re_1: -5 });
    expect([await available(), reviewsOf(ledger)]).toEqual([usd(50), []]);
  });

  it('is not deducted from other money after the operator has reversed the deposit', async () => {
    const { service } = ledger;
    const { accountId } = payment;
    await service.deposit(depositRequest({ accountId, keyId: '' }, usd(100)));
    await sendRefunds({ re_1: 50 });
    await creditBack(usd(50));
    await service.reverse({ idempotencyKey: 'all', accountId, entryId: await depositId(), amountNanoUsd: undefined, reason: 'wrong' });
    await sendRefunds({ re_1: -50, re_2: 50 });
    expect([await available(), reviewsOf(ledger)]).toEqual([usd(100), []]);
  });
});

describe.each(testEngines)('an event that an operator must review on %s', (engine) => {
  let ledger: TestLedger;

  beforeEach(async () => {
    ledger = await startTestLedger(engine);
  });

  afterEach(() => ledger.stop());

  it('is logged with the account, the payment, its deposit and what was deducted, and counted', async () => {
    const { service, log } = ledger;
    const accountId = newId('acct');
    const send = (event: PaymentEvent): Promise<void> => book('stripe', event, context, { log, ledger: service, accounts });
    const payment = { paymentId: 'cs_1', accountId, amountNanoUsd: 50_000_000_000n };
    await send({ kind: 'paid', ...payment });
    await send(refunded(payment, [{ refundId: 're_1', amountNanoUsd: 5_000_000_000n, hasFailed: false }]));
    const entryOf = async (idempotencyKey: string) => (await service.getEntryByIdempotencyKey({ accountId, idempotencyKey })).entry!.id;
    const before = await counted();
    const event: PaymentEvent = {
      kind: 'review',
      review: 'refund_failed',
      what: 'refund.failed',
      payment: { paymentId: 'cs_1', accountId },
      isStamped: false,
      refundId: 're_1',
      details: { status: 'canceled' },
    };
    await send(event);
    const unknown = { ...event, review: 'dispute', payment: { paymentId: 'cs_2', accountId } } as const;
    // Another installation may use the same account at the provider.
    await send(unknown);
    await send({ ...unknown, isStamped: true });
    await send({ ...event, review: 'refund_not_deducted', payment: undefined });
    expect(reviewsOf(ledger)).toMatchObject([
      {
        review: 'refund_failed',
        provider: 'stripe',
        what: 'refund.failed',
        account_id: accountId,
        payment_id: 'cs_1',
        entry_id: await entryOf('stripe:cs_1'),
        deducted_entry_id: await entryOf('stripe:re_1'),
        deducted_usd: '5',
        status: 'canceled',
      },
      { review: 'dispute', payment_id: 'cs_2' },
      { review: 'refund_not_deducted' },
    ]);
    const after = await counted();
    const more = Object.fromEntries(Object.keys(after).map((kind) => [kind, after[kind]! - before[kind]!]));
    expect(more).toEqual({
      account_suspended: 0,
      dispute: 1,
      payment_not_credited: 0,
      refund_failed: 1,
      refund_not_deducted: 1,
      refund_short: 0,
    });
  });

  it('is a payment credited to a suspended account, which is credited even if its state is unknown', async () => {
    const { service, log } = ledger;
    const accountId = newId('acct');
    const states = [
      async () => ({ state: AccountState.ACCOUNT_STATE_SUSPENDED }),
      async (): Promise<never> => {
        throw new AppError('service_unavailable', 'Unavailable.');
      },
    ];
    for (const [index, getAccountState] of states.entries()) {
      const payment = { paymentId: `cs_${index}`, accountId, amountNanoUsd: 5_000_000_000n };
      for (let times = 0; times < 2; times += 1)
        await book('stripe', { kind: 'paid', ...payment }, context, { log, ledger: service, accounts: { getAccountState } });
    }
    const { entry } = await service.getEntryByIdempotencyKey({ accountId, idempotencyKey: 'stripe:cs_0' });
    const review = { review: 'account_suspended', account_id: accountId, payment_id: 'cs_0', amount_usd: '5', entry_id: entry!.id };
    expect(reviewsOf(ledger)).toMatchObject([review, review]);
    expect((await service.getBalance({ accountId })).balance).toMatchObject({ availableNanoUsd: 10_000_000_000n });
  });

  it('is reported when the provider sends a payment again that was credited before the ledger ended', async () => {
    const { service, log } = ledger;
    const accountId = newId('acct');
    const suspended: BookingDeps['accounts'] = { getAccountState: async () => ({ state: AccountState.ACCOUNT_STATE_SUSPENDED }) };
    const payment = { paymentId: 'cs_1', accountId, amountNanoUsd: 5_000_000_000n };
    const ended: BookingDeps['ledger'] = {
      ...service,
      async deposit(request, by) {
        await service.deposit(request, by);
        throw new AppError('service_unavailable', 'The process ended.');
      },
    };
    const paid = { kind: 'paid', ...payment } as const;
    await expect(book('stripe', paid, context, { log, ledger: ended, accounts: suspended })).rejects.toThrow();
    expect(reviewsOf(ledger)).toEqual([]);
    await book('stripe', paid, context, { log, ledger: service, accounts: suspended });
    expect(reviewsOf(ledger)).toMatchObject([{ review: 'account_suspended', payment_id: 'cs_1' }]);
    // A later refund does not report it again, and a refund whose event arrives before that of its payment does.
    await book('stripe', refunded(payment), context, { log, ledger: service, accounts: suspended });
    expect(reviewsOf(ledger)).toHaveLength(1);
    await book('stripe', refunded({ ...payment, paymentId: 'cs_2' }, []), context, { log, ledger: service, accounts: suspended });
    expect(reviewsOf(ledger)).toMatchObject([{ payment_id: 'cs_1' }, { review: 'account_suspended', payment_id: 'cs_2' }]);
  });

  /** Returns how many cases of each kind have been counted. */
  async function counted(): Promise<Record<string, number>> {
    const { series } = (await collectMetrics()).find(({ name }) => name === 'tollgate.payments.review')!;
    return Object.fromEntries(series.map(({ labels, value }) => [labels['kind'], value as number]));
  }
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
      const { pathname, searchParams } = new URL(request.url!, 'http://stripe.invalid');
      const found = (): object => session(searchParams.get('payment_intent')!.replace('pi', 'cs'));
      const data = [pathname === '/v1/refunds' ? { id: 're_1', amount: 5000, created: 1, status: 'succeeded' } : found()];
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ object: 'list', url: pathname, has_more: false, data }));
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
        await book('stripe', event, context, { log, ledger: service, accounts });
      };
      const payment = { paymentId: 'cs_1', accountId, amountNanoUsd: 50_000_000_000n };
      await book('stripe', { kind: 'paid', ...payment }, context, { log, ledger: service, accounts });
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
    reviewsOf(ledger)
      .filter(({ review }) => review === 'refund_short')
      .map(({ missing_usd }) => missing_usd);

  /** Returns the ledger, with this before each deduction of a refund. */
  const interrupted = (before: () => Promise<unknown>): BookingDeps => ({
    log: ledger.log,
    accounts,
    ledger: {
      ...ledger.service,
      async adjust(request, by) {
        await before();
        return ledger.service.adjust(request, by);
      },
    },
  });

  it.each([
    // All of it is reversed, part of it in the direction of the refund, and part beside it.
    [undefined, 50, 40],
    [20_000_000_000n, 20, 70],
    [20_000_000_000n, 30, 60],
  ])('deducts only what a reversal of %s at the same instant leaves of %d USD', async (amountNanoUsd, refundedUsd, leftUsd) => {
    const { service, log } = ledger;
    await service.deposit(depositRequest({ accountId, keyId: '' }, 40_000_000_000n));
    await book('stripe', { kind: 'paid', ...payment() }, context, { log, ledger: service, accounts });
    const { entry } = await service.getEntryByIdempotencyKey({ accountId, idempotencyKey: 'stripe:cs_1' });
    const reversal = { idempotencyKey: 'undo', accountId, entryId: entry!.id, amountNanoUsd, reason: 'wrong' };
    await book(
      'stripe',
      refund(BigInt(refundedUsd) * 1_000_000_000n),
      context,
      interrupted(() => service.reverse(reversal)),
    );
    expect([await available(), reviewsOf(ledger)]).toEqual([BigInt(leftUsd) * 1_000_000_000n, []]);
  });

  it('leaves nothing of the deposit to a reversal or an adjustment at the same instant', async () => {
    const { service, log } = ledger;
    const deps = { log, ledger: service, accounts };
    await service.deposit(depositRequest({ accountId, keyId: '' }, 200_000_000_000n));
    await book('stripe', { kind: 'paid', ...payment() }, context, deps);
    const { entry } = await service.getEntryByIdempotencyKey({ accountId, idempotencyKey: 'stripe:cs_1' });
    const entryId = entry!.id;
    const fields = { accountId, reason: 'wrong' };
    const outcomes = await Promise.allSettled([
      service.adjust({ ...fields, idempotencyKey: 'by hand', amountNanoUsd: -50_000_000_000n, linkedEntryId: entryId }),
      book('stripe', refund(50_000_000_000n), context, deps),
      service.reverse({ ...fields, idempotencyKey: 'undo', entryId, amountNanoUsd: undefined }),
      service.adjust({ ...fields, idempotencyKey: 'again', amountNanoUsd: -50_000_000_000n, linkedEntryId: entryId }),
    ]);
    const refused = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [(outcome.reason as AppError).details['rule']] : []));
    expect(refused.length).toBeGreaterThanOrEqual(2);
    expect(new Set(refused)).toEqual(new Set(['nothing_left']));
    expect([await available(), missing()]).toEqual([200_000_000_000n, []]);
    expect((await service.verify({ accountId })).drifts).toEqual([]);
  });

  it('fails, so that the provider sends it again, if the deposit is corrected again and again', async () => {
    const { service, log } = ledger;
    await book('stripe', { kind: 'paid', ...payment() }, context, { log, ledger: service, accounts });
    const { entry } = await service.getEntryByIdempotencyKey({ accountId, idempotencyKey: 'stripe:cs_1' });
    const correct = () =>
      service.reverse({ idempotencyKey: newId('req'), accountId, entryId: entry!.id, amountNanoUsd: 1n, reason: 'wrong' });
    const booked = book('stripe', refund(50_000_000_000n), context, interrupted(correct));
    await expect(booked).rejects.toMatchObject({ reason: 'failed_precondition', details: { rule: 'entry_changed' } });
  });

  it('logs the missing amount when the provider sends it again after a lost response', async () => {
    const { service, log } = ledger;
    const payment = { paymentId: 'cs_1', accountId, amountNanoUsd: 50_000_000_000n };
    const event = refunded(payment);
    let losesResponses = true;
    const deps: BookingDeps = {
      log,
      accounts,
      ledger: {
        ...service,
        async adjust(request, context) {
          const response = await service.adjust(request, context);
          if (losesResponses) throw new AppError('service_unavailable', 'The response was lost.');
          return response;
        },
      },
    };
    await book('stripe', { kind: 'paid', ...payment }, context, deps);
    await service.adjust({ idempotencyKey: 'spent', accountId, amountNanoUsd: -42_000_000_000n, reason: 'spent', linkedEntryId: '' });
    const send = (): Promise<void> => book('stripe', event, context, deps);
    await expect(send()).rejects.toMatchObject({ reason: 'service_unavailable' });
    losesResponses = false;
    await send();
    expect((await service.getBalance({ accountId })).balance).toMatchObject({ availableNanoUsd: 0n });
    expect(missing()).toEqual(['42']);
  });

  const payment = () => ({ paymentId: 'cs_1', accountId, amountNanoUsd: 50_000_000_000n });
  const refund = (amountNanoUsd: bigint) => refunded(payment(), [{ refundId: 're_1', amountNanoUsd, hasFailed: false }]);
  const available = async () => (await ledger.service.getBalance({ accountId })).balance!.availableNanoUsd;

  it.each([
    [50, 40],
    [20, 70],
    [30, 60],
  ])('of %d USD is deducted as far as operators have not taken it from the deposit', async (refundedUsd, leftUsd) => {
    const { service, log } = ledger;
    const deps = { log, ledger: service, accounts };
    await service.deposit(depositRequest({ accountId, keyId: '' }, 40_000_000_000n));
    await book('stripe', { kind: 'paid', ...payment() }, context, deps);
    const { entry } = await service.getEntryByIdempotencyKey({ accountId, idempotencyKey: 'stripe:cs_1' });
    await service.reverse({ idempotencyKey: 'part', accountId, entryId: entry!.id, amountNanoUsd: 20_000_000_000n, reason: 'wrong' });
    for (let times = 0; times < 2; times += 1) await book('stripe', refund(BigInt(refundedUsd) * 1_000_000_000n), context, deps);
    expect([await available(), reviewsOf(ledger)]).toEqual([BigInt(leftUsd) * 1_000_000_000n, []]);
  });

  it('is deducted from its payment in the name of the provider, even if its event arrives first', async () => {
    const { service, log } = ledger;
    const callers: string[] = [];
    const deps: BookingDeps = {
      log,
      accounts,
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
    const deps = { ledger: ledger.service, log: ledger.log, accounts };
    await ledger.service.deposit(depositRequest({ accountId, keyId: '' }, 100_000_000_000n));
    await book('stripe', refund(20_000_000_000n), context, deps);
    await book('stripe', { ...refund(20_000_000_000n), eventId: 'evt_2' }, context, deps);
    expect(await available()).toBe(130_000_000_000n);
  });

  it.each(['adjust', 'getEntryByIdempotencyKey'] as const)('is reported again while the ledger does not respond to %s', async (rpc) => {
    const { service, log } = ledger;
    const away = (): never => {
      throw new AppError('service_unavailable', 'Unavailable.');
    };
    // Without a stamp, only the deposit shows that the payment is ours.
    const event: PaymentEvent = { ...refund(20_000_000_000n), isStamped: false };
    await book('stripe', { kind: 'paid', ...payment() }, context, { ledger: service, log, accounts });
    const failed = book('stripe', event, context, { ledger: { ...service, [rpc]: away }, log, accounts });
    await expect(failed).rejects.toMatchObject({ reason: 'service_unavailable' });
    await book('stripe', event, context, { ledger: service, log, accounts });
    expect([await available(), missing()]).toEqual([30_000_000_000n, []]);
  });

  it('is deducted once if its event arrives twice at once and the balance grows in between', async () => {
    const { service, log } = ledger;
    await book('stripe', { kind: 'paid', ...payment() }, context, { ledger: service, log, accounts });
    await service.adjust({ idempotencyKey: 'spent', accountId, amountNanoUsd: -42_000_000_000n, reason: 'spent', linkedEntryId: '' });
    const deps: BookingDeps = {
      log,
      accounts,
      ledger: {
        ...service,
        async getBalance(request) {
          // The other delivery takes the 8 USD that are left, and a user pays 5.
          await book('stripe', refund(50_000_000_000n), context, { ledger: service, log, accounts });
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
    await book('stripe', { kind: 'paid', ...payment() }, context, { ledger: service, log, accounts });
    await service.adjust({ idempotencyKey: 'spent', accountId, amountNanoUsd: -50_000_000_000n, reason: 'spent', linkedEntryId: '' });
    await book('stripe', refund(20_000_000_000n), context, { ledger: service, log, accounts });
    expect([await available(), missing()]).toEqual([0n, ['20']]);
  });

  it('takes no more than was refunded if the balance grows meanwhile', async () => {
    const { service, log } = ledger;
    let hasFailed = false;
    const deps: BookingDeps = {
      log,
      accounts,
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
