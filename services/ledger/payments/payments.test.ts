import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { AppError } from '#client/errors/app-error.js';
import { ManualClock } from '#kit/clock.js';
import { parseSettings } from '#kit/config/settings.js';
import { newId } from '#kit/id.js';
import { AccountState } from '#proto/auth/v1/auth.js';
import { Entry } from '#proto/ledger/v1/ledger.js';
import { createLogger } from '#kit/log.js';
import { silentLog } from '#kit/testing/log.js';
import { close, listen } from '#kit/testing/local-server.js';
import type { BookingDeps } from './booking.js';
import { createProvider } from './create-payments.js';
import type { PaymentProvider } from './provider.js';
import { paymentService } from './service.js';
import { paymentSettings } from './settings.js';
import { accountOfStamp, stampOf } from './stamp.js';
import { StripeProvider } from './stripe.js';
import { centsOf, nanoUsdOfCents, paidOf } from './stripe-events.js';

const accounts: BookingDeps['accounts'] = { getAccountState: async () => ({ state: AccountState.ACCOUNT_STATE_ACTIVE }) };
const deps = { clock: new ManualClock(), log: silentLog, accounts };
const notFound = (): never => {
  throw new AppError('not_found', 'There is no such entry.');
};
/** A ledger without entries that cannot be written. */
const noLedger: BookingDeps['ledger'] = {
  deposit: notFound,
  adjust: notFound,
  getBalance: notFound,
  getEntry: notFound,
  getEntryByIdempotencyKey: async () => notFound(),
};

describe('the stamp on a payment', () => {
  const stamp = stampOf('acct_a', 'ref', ['one', 'two']);

  it('is valid while either secret is known, and under no other secret', () => {
    expect(accountOfStamp(stamp, ['one', 'two'])).toBe('acct_a');
    expect(accountOfStamp(stamp, ['one', 'new'])).toBe('acct_a');
    expect(accountOfStamp(stamp, ['new', 'two'])).toBe('acct_a');
    expect(accountOfStamp(stamp, ['new', 'newer'])).toBeUndefined();
  });

  it.each([
    undefined,
    null,
    {},
    { ...stamp, tollgate_account: 'acct_b' },
    { ...stamp, tollgate_reference: 'other' },
    { ...stamp, tollgate_stamp: '' },
    { ...stamp, tollgate_stamp: stamp.tollgate_stamp.replace(/^./, (first) => (first === 'A' ? 'B' : 'A')).split('.')[0]! },
  ])('is not valid for %j', (data) => {
    expect(accountOfStamp(data, ['one', 'two'])).toBeUndefined();
  });

  it('distinguishes data that could be read in two ways', () => {
    const moved = { ...stampOf('acct_a', 'b","c', ['one']), tollgate_account: 'acct_a","b', tollgate_reference: 'c' };
    expect(accountOfStamp(moved, ['one'])).toBeUndefined();
  });
});

describe('cents', () => {
  it('are exact both ways', () => {
    fc.assert(fc.property(fc.integer({ min: 1, max: 99_999_999 }), (cents) => expect(centsOf(nanoUsdOfCents(cents)!)).toBe(cents)));
  });

  it.each([0, -1, 1.5, Number.NaN, 2 ** 53, '100', null, undefined])('are not an amount: %j', (cents) => {
    expect(nanoUsdOfCents(cents)).toBeUndefined();
  });
});

describe('a checkout session', () => {
  const session = (changes: object = {}) =>
    ({
      id: 'cs_1',
      mode: 'payment',
      payment_status: 'paid',
      currency: 'usd',
      amount_total: 500,
      metadata: stampOf('acct_a', 'ref', ['one']),
      ...changes,
    }) as unknown as Parameters<typeof paidOf>[0];
  const paid = (each: ReturnType<typeof session>) => paidOf(each, accountOfStamp(each.metadata, ['one']));

  it('is a payment once it is paid', () => {
    expect(paid(session())).toEqual({ paymentId: 'cs_1', accountId: 'acct_a', amountNanoUsd: 5_000_000_000n });
  });

  it.each([
    ['the money has not arrived', { payment_status: 'unpaid' }, 'open'],
    ['it needs no payment', { payment_status: 'no_payment_required' }, 'open'],
    ['it is in another currency', { currency: 'jpy' }, 'unusable'],
    ['it has no amount', { amount_total: 0 }, 'unusable'],
    ['it begins a subscription', { mode: 'subscription' }, 'foreign'],
    ['its stamp is not ours', { metadata: stampOf('acct_a', 'ref', ['other']) }, 'foreign'],
  ])('is not a payment if %s', (_why, changes, expected) => {
    expect(paid(session(changes))).toBe(expected);
  });
});

describe('the settings of payments', () => {
  const create = (env: Record<string, string>) => createProvider(parseSettings(paymentSettings, env), deps);

  it('configure no provider unless both secrets are set', () => {
    expect(create({})).toBeUndefined();
    expect(() => create({ TOLLGATE_LEDGER_STRIPE_SECRET_KEY: 'sk_1' })).toThrow('must be set together');
    expect(() => create({ TOLLGATE_LEDGER_STRIPE_WEBHOOK_SECRET: 'whsec_1' })).toThrow('must be set together');
    expect(create({ TOLLGATE_LEDGER_STRIPE_SECRET_KEY: 'sk_1', TOLLGATE_LEDGER_STRIPE_WEBHOOK_SECRET: 'whsec_1' })?.name).toBe('stripe');
  });

  it('reject keys of Stripe of another kind, without showing them', () => {
    const secrets = { TOLLGATE_LEDGER_STRIPE_SECRET_KEY: 'rk_live_1', TOLLGATE_LEDGER_STRIPE_WEBHOOK_SECRET: 'whsec_1' };
    expect(create(secrets)?.name).toBe('stripe');
    for (const key of ['pk_live_1', ' pk_test_1 ', 'whsec_1'])
      expect(() => create({ ...secrets, TOLLGATE_LEDGER_STRIPE_SECRET_KEY: key })).toThrow(
        /TOLLGATE_LEDGER_STRIPE_SECRET_KEY must be a secret key \(sk_…\) or a restricted key \(rk_…\)(?!.*_1)/,
      );
    expect(() => create({ ...secrets, TOLLGATE_LEDGER_STRIPE_WEBHOOK_SECRET: 'sk_live_1' })).toThrow(
      'TOLLGATE_LEDGER_STRIPE_WEBHOOK_SECRET must be the signing secret',
    );
  });

  it('reject limits that cannot be paid', () => {
    expect(() => create({ TOLLGATE_LEDGER_PAYMENT_MIN_USD: '0.49' })).toThrow('TOLLGATE_LEDGER_PAYMENT_MIN_USD');
    expect(() => create({ TOLLGATE_LEDGER_PAYMENT_MIN_USD: '1.005' })).toThrow('whole cents');
    expect(() => create({ TOLLGATE_LEDGER_PAYMENT_MAX_USD: '4' })).toThrow('must not be above');
    expect(() =>
      create({
        TOLLGATE_LEDGER_STRIPE_SECRET_KEY: 'a',
        TOLLGATE_LEDGER_STRIPE_WEBHOOK_SECRET: 'b',
        TOLLGATE_LEDGER_PAYMENT_MIN_USD: '10',
        TOLLGATE_LEDGER_PAYMENT_MAX_USD: '5',
      }),
    ).toThrow('must not be above');
  });
});

describe('the requests of an account to the provider', () => {
  it('are limited by the minute, and no longer when the time of day is set back', async () => {
    const clock = new ManualClock();
    const counts = { begun: 0, queried: 0 };
    const provider: PaymentProvider = {
      name: 'stripe',
      beginCheckout: async () => ({ id: `cs_${(counts.begun += 1)}`, url: 'https://pay.example.com' }),
      readEvent: async () => ({ kind: 'ignored' }),
      async findPaid() {
        counts.queried += 1;
        return undefined;
      },
    };
    const service = paymentService({
      ...deps,
      clock,
      provider,
      ledger: noLedger,
      limits: parseSettings(paymentSettings, {}),
    });
    const accountId = newId('acct');
    const begin = () =>
      service.beginPayment({
        accountId,
        amountNanoUsd: 5_000_000_000n,
        idempotencyKey: 'one',
        doneUrl: 'https://console.example.com',
        cancelledUrl: 'https://console.example.com',
      });
    const getPayment = () => service.getPayment({ accountId, paymentId: 'cs_1' });
    for (let times = 0; times < 30; times += 1) await begin();
    await getPayment();
    await expect(begin()).rejects.toMatchObject({ reason: 'overloaded', retryAfterMs: 60_000 });
    clock.step(-3_600_000);
    clock.advance(60_000);
    await begin();
    await getPayment();
    expect(counts).toEqual({ begun: 31, queried: 2 });
  });
});

describe('the requests of two accounts with the same idempotency key', () => {
  it('are different requests to Stripe, which would reject the second otherwise, for a payment in US dollars only', async () => {
    const keys: unknown[] = [];
    const forms: URLSearchParams[] = [];
    const stripe = createServer(async (request, response) => {
      keys.push(request.headers['idempotency-key']);
      forms.push(new URLSearchParams(await text(request)));
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ id: 'cs_1', object: 'checkout.session', url: 'https://pay.example.com' }));
    });
    try {
      const apiBase = `http://127.0.0.1:${await listen(stripe)}`;
      const provider = new StripeProvider({ secretKey: 'sk_1', webhookSecret: 'whsec_1', apiBase }, deps);
      const [accountId, otherId] = [newId('acct'), newId('acct')];
      for (const each of [accountId, accountId, otherId])
        await provider.beginCheckout({
          accountId: each,
          amountNanoUsd: 5_000_000_000n,
          reference: 'one',
          doneUrl: 'https://console.example.com',
          cancelledUrl: 'https://console.example.com',
        });
      expect(keys[1]).toBe(keys[0]);
      expect(keys[2]).not.toBe(keys[0]);
      expect(forms.map((form) => form.get('adaptive_pricing[enabled]'))).toEqual(['false', 'false', 'false']);
    } finally {
      await close(stripe);
    }
  });
});

describe('the payments of a service', () => {
  const provider: PaymentProvider = {
    name: 'stripe',
    beginCheckout: async () => ({ id: 'cs_1', url: 'https://pay.example.com' }),
    readEvent: async () => ({ kind: 'ignored' }),
    findPaid: async () => undefined,
  };
  const limits = parseSettings(paymentSettings, {});
  const service = paymentService({
    ...deps,
    provider,
    ledger: noLedger,
    limits,
  });
  const { paymentMinNanoUsd: min, paymentMaxNanoUsd: max } = limits;
  const begin = (changes: object) =>
    service.beginPayment({
      accountId: newId('acct'),
      amountNanoUsd: min,
      idempotencyKey: 'one',
      doneUrl: 'https://console.example.com',
      cancelledUrl: 'https://console.example.com',
      ...changes,
    });

  it('are whole cents within the limits', async () => {
    for (const amountNanoUsd of [min, max]) await begin({ amountNanoUsd });
    for (const amountNanoUsd of [0n, -min, min - 10_000_000n, min + 1n, max + 10_000_000n])
      await expect(begin({ amountNanoUsd })).rejects.toMatchObject({ reason: 'invalid_request', details: { field: 'amount_nano_usd' } });
  });

  it('have an idempotency key, and ids of the provider', async () => {
    await begin({ idempotencyKey: 'k'.repeat(200) });
    for (const idempotencyKey of ['', 'k'.repeat(201)])
      await expect(begin({ idempotencyKey })).rejects.toMatchObject({ details: { field: 'idempotency_key' } });
    for (const paymentId of ['', '../cs_1', 'c'.repeat(191)])
      await expect(service.getPayment({ accountId: newId('acct'), paymentId })).rejects.toMatchObject({ reason: 'not_found' });
  });

  it.each(['done_url', 'cancelled_url'])('return only to web addresses: %s', async (field) => {
    for (const url of ['', 'javascript:alert(1)', 'https://'])
      await expect(begin(field === 'done_url' ? { doneUrl: url } : { cancelledUrl: url })).rejects.toMatchObject({ details: { field } });
  });

  it('have events of the configured provider, of a bounded size', async () => {
    const record = (changes: object = {}) =>
      service.recordPaymentEvent({ provider: 'stripe', body: Buffer.alloc(8), signature: '', ...changes });
    await record();
    await expect(record({ provider: 'other' })).rejects.toMatchObject({ reason: 'not_found' });
    await expect(record({ body: Buffer.alloc(1024 * 1024 + 1) })).rejects.toMatchObject({ reason: 'body_too_large' });
  });
});

describe('a payment whose event has not arrived', () => {
  it('is credited when its own account requests it, and the provider is queried about it at most every five seconds', async () => {
    const clock = new ManualClock();
    const accountId = newId('acct');
    let queries = 0;
    const provider: PaymentProvider = {
      name: 'stripe',
      beginCheckout: async () => ({ id: 'cs_1', url: 'https://pay.example.com' }),
      readEvent: async () => ({ kind: 'ignored' }),
      async findPaid(paymentId) {
        queries += 1;
        return { paymentId, accountId, amountNanoUsd: 5_000_000_000n };
      },
    };
    const deposits: string[] = [];
    const service = paymentService({
      ...deps,
      clock,
      provider,
      ledger: {
        ...noLedger,
        async deposit(request) {
          deposits.push(request.accountId);
          return { entry: Entry.fromPartial({ accountId: request.accountId }), balance: undefined, replayed: false };
        },
      },
      limits: parseSettings(paymentSettings, {}),
    });
    const getPayment = async (account: string, paymentId = 'cs_1') =>
      (await service.getPayment({ accountId: account, paymentId })).entry?.accountId;
    const stranger = newId('acct');
    expect([await getPayment(stranger), deposits]).toEqual([undefined, []]);
    clock.advance(4999);
    expect([await getPayment(accountId), queries]).toEqual([undefined, 1]);
    clock.advance(1);
    expect([await getPayment(accountId), deposits, queries]).toEqual([accountId, [accountId], 2]);
    // An account that invents payments uses up its own queries only.
    for (let payment = 0; payment < 40; payment += 1) await getPayment(stranger, `cs_invented_${payment}`);
    expect(queries).toBe(2 + 29);
    expect(await getPayment(accountId, 'cs_2')).toBe(accountId);
  });
});

describe('a request not signed by Stripe', () => {
  it('leaves none of its content in the log, which any sender could fill', async () => {
    const lines: string[] = [];
    const log = createLogger({ name: 'test', level: 'trace' }, { write: (line) => void lines.push(line) });
    const provider = new StripeProvider(
      { secretKey: 'sk_1', webhookSecret: 'whsec_1', apiBase: 'https://api.stripe.com' },
      { clock: new ManualClock(), log },
    );
    const body = Buffer.from(JSON.stringify({ email: 'ada@example.com', filler: 'f'.repeat(100_000) }));
    for (const signature of ['', `t=1,v1=${'a'.repeat(64)}`, 'x'.repeat(10_000)]) {
      await expect(provider.readEvent(body, signature)).rejects.toMatchObject({ reason: 'invalid_request' });
    }
    expect(lines).toHaveLength(3);
    expect(lines.join('').length).toBeLessThan(3000);
    expect(lines.join('')).not.toContain('ada@example.com');
  });
});

describe('a payment that arrives after both secrets were replaced', () => {
  const eventOf = async (metadata: Record<string, string>) => {
    const lines: string[] = [];
    const log = createLogger({ name: 'test', level: 'warn' }, { write: (line) => void lines.push(line) });
    const settings = { secretKey: 'sk_new', webhookSecret: 'whsec_new', apiBase: 'https://api.stripe.com' };
    const session = { id: 'cs_1', mode: 'payment', payment_status: 'paid', amount_total: 500, currency: 'usd', metadata };
    const type = 'checkout.session.async_payment_succeeded';
    const body = JSON.stringify({ id: 'evt_1', object: 'event', type, data: { object: session } });
    const seconds = Math.floor(deps.clock.nowMs() / 1000);
    const signature = createHmac('sha256', 'whsec_new').update(`${seconds}.${body}`).digest('hex');
    const event = await new StripeProvider(settings, { ...deps, log }).readEvent(Buffer.from(body), `t=${seconds},v1=${signature}`);
    return { event, lines };
  };

  it('is not credited, and logged, because the payer may have paid for nothing', async () => {
    const accountId = newId('acct');
    const { event, lines } = await eventOf(stampOf(accountId, 'one', ['sk_old', 'whsec_old']));
    expect(event).toEqual({ kind: 'ignored' });
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([{ payment: 'cs_1', account_id: accountId, amount_cents: 500 }]);
    expect(await eventOf({ order: '7' })).toEqual({ event: { kind: 'ignored' }, lines: [] });
  });
});

describe('an event of a payment, a refund or a dispute', () => {
  const accountId = newId('acct');
  const metadata = stampOf(accountId, 'one', ['sk_1']);
  const session = { id: 'cs_1', mode: 'payment', payment_status: 'paid', amount_total: 5000, currency: 'usd', metadata };
  const payment = { paymentId: 'cs_1', accountId };
  const charge = { id: 'ch_1', payment_intent: 'pi_1', currency: 'usd', amount_refunded: 1200, metadata };
  const refunded = { data: { object: charge } };
  const created = 1_800_000_000;
  const refund = { id: 're_1', object: 'refund', amount: 700, created, status: 'succeeded' };

  /** What Stripe has; a list that is undefined must not be queried, and one that is a number is answered with that status. */
  interface AtStripe {
    readonly sessions?: readonly object[];
    readonly refunds?: readonly object[] | number;
  }

  async function eventOf(event: object | null, { sessions, refunds }: AtStripe = {}): Promise<unknown> {
    const stripe = createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url!, 'http://stripe.invalid');
      const isOurs = searchParams.get('payment_intent') === 'pi_1' || searchParams.get('charge') === 'ch_1';
      const found = pathname === '/v1/refunds' ? refunds : sessions;
      const status = typeof found === 'number' ? found : found === undefined ? 500 : 200;
      response.writeHead(status, { 'content-type': 'application/json', 'stripe-should-retry': 'false' });
      response.end(
        JSON.stringify(
          status === 200 ? { object: 'list', url: pathname, has_more: false, data: isOurs ? found : [] } : { error: { message: 'No.' } },
        ),
      );
    });
    try {
      const apiBase = `http://127.0.0.1:${await listen(stripe)}`;
      const provider = new StripeProvider({ secretKey: 'sk_1', webhookSecret: 'whsec_1', apiBase }, deps);
      const seconds = Math.floor(deps.clock.nowMs() / 1000);
      const body = JSON.stringify(event === null ? null : { id: 'evt_1', object: 'event', type: 'charge.refunded', created, ...event });
      const signature = createHmac('sha256', 'whsec_1').update(`${seconds}.${body}`).digest('hex');
      return await provider.readEvent(Buffer.from(body), `t=${seconds},v1=${signature}`);
    } finally {
      await close(stripe);
    }
  }

  it('reports all refunds of the payment, and which of them failed or were canceled', async () => {
    const refunds = [
      { ...refund, id: 're_3', amount: 200, created: created + 20 },
      { ...refund, id: 're_2', status: 'canceled', created: created + 10 },
      { ...refund, status: 'pending' },
      { ...refund, id: 're_0', status: 'failed', created: created - 3600 },
    ];
    expect(await eventOf(refunded, { sessions: [session], refunds })).toEqual({
      kind: 'refunded',
      eventId: 'evt_1',
      payment: { ...payment, amountNanoUsd: 50_000_000_000n },
      isStamped: true,
      refunds: [
        { refundId: 're_0', amountNanoUsd: 7_000_000_000n, hasFailed: true },
        { refundId: 're_1', amountNanoUsd: 7_000_000_000n, hasFailed: false },
        { refundId: 're_2', amountNanoUsd: 7_000_000_000n, hasFailed: true },
        { refundId: 're_3', amountNanoUsd: 2_000_000_000n, hasFailed: false },
      ],
    });
  });

  // 403: the key may not read refunds.
  it.each([403, 404, 429, 500])('is sent again if Stripe answers the query of refunds with %d', async (refunds) => {
    await expect(eventOf(refunded, { sessions: [session], refunds })).rejects.toMatchObject({ reason: 'upstream_unavailable' });
  });

  it.each([
    ['its payment is not ours', { metadata: { order: '7' } }],
    ['its payment names no account', { metadata: { ...metadata, tollgate_account: 'shop' } }],
    ['it belongs to no payment', { payment_intent: null }],
  ])('is ignored if %s', async (_why, changes) => {
    expect(await eventOf({ data: { object: { ...charge, ...changes } } })).toEqual({ kind: 'ignored' });
  });

  it.each([
    ['in another currency', { currency: 'jpy' }, [session], payment],
    ['of a payment that Stripe does not have', {}, [], undefined],
    ['of an unpaid payment', {}, [{ ...session, payment_status: 'unpaid' }], payment],
  ])('is left to the operator if it is a refund %s', async (_why, changes, sessions, of) => {
    expect(await eventOf({ data: { object: { ...charge, ...changes } } }, { sessions })).toMatchObject({
      kind: 'review',
      review: 'refund_not_deducted',
      payment: of,
      details: { charge: 'ch_1', payment_intent: 'pi_1' },
    });
  });

  it('is left to the operator if it is a payment in another currency', async () => {
    expect(await eventOf({ type: 'checkout.session.completed', data: { object: { ...session, currency: 'jpy' } } })).toEqual({
      kind: 'review',
      review: 'payment_not_credited',
      what: 'a payment that cannot be credited',
      payment,
      isStamped: true,
      details: { currency: 'jpy', amount: '5000' },
    });
  });

  it.each(['refund.failed', 'refund.updated', 'charge.refund.updated'])(
    'is left to the operator if it is %s of a refund that failed',
    async (type) => {
      const of = { payment_intent: { id: 'pi_1' }, currency: 'usd', failure_reason: 'lost_or_stolen_card' };
      for (const status of ['failed', 'canceled'])
        expect(await eventOf({ type, data: { object: { ...refund, ...of, status } } }, { sessions: [session] })).toEqual({
          kind: 'review',
          review: 'refund_failed',
          what: type,
          payment,
          isStamped: true,
          refundId: 're_1',
          details: {
            refund: 're_1',
            status,
            payment_intent: 'pi_1',
            amount_cents: '700',
            currency: 'usd',
            reason: 'lost_or_stolen_card',
          },
        });
      for (const status of ['pending', 'requires_action', 'succeeded'])
        expect(await eventOf({ type, data: { object: { ...refund, ...of, status } } })).toEqual({ kind: 'ignored' });
    },
  );

  const dispute = { id: 'dp_1', status: 'needs_response', payment_intent: { id: 'pi_1' }, amount: 5000, currency: 'usd' };

  it.each(['created', 'closed', 'funds_withdrawn', 'funds_reinstated'])(
    'is left to the operator with its amount if it is a dispute: %s',
    async (step) => {
      const type = `charge.dispute.${step}`;
      expect(await eventOf({ type, data: { object: dispute } }, { sessions: [session] })).toEqual({
        kind: 'review',
        review: 'dispute',
        what: type,
        payment,
        isStamped: true,
        details: { dispute: 'dp_1', status: 'needs_response', payment_intent: 'pi_1', amount_cents: '5000', currency: 'usd' },
      });
    },
  );

  it.each([
    ['another shop', [{ ...session, metadata: { order: '7' } }]],
    ['no checkout', []],
  ])('is ignored if it is a dispute of a payment of %s', async (_whose, sessions) => {
    expect(await eventOf({ type: 'charge.dispute.created', data: { object: dispute } }, { sessions })).toEqual({ kind: 'ignored' });
    expect(await eventOf({ type: 'charge.dispute.created', data: { object: { ...dispute, payment_intent: null } } })).toEqual({
      kind: 'ignored',
    });
  });

  it.each([null, {}, { data: null }, { data: {} }, { data: { object: null } }, { type: 'refund.failed' }])(
    'is rejected without an object, although Stripe signed it: %j',
    async (event) => {
      await expect(eventOf(event)).rejects.toMatchObject({ reason: 'invalid_request', details: { field: 'data' } });
    },
  );
});
