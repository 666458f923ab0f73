// Payments by Stripe Checkout against a stub of Stripe's API: started in the console, reported by signed events, credited once.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { addMember, type Browser, signedIn } from '../support/clients/console.js';
import { eventually } from '../support/systems/process.js';
import { type Session, startStripe, type StripeStub } from '../support/vendors/stripe.js';
import { modes, startSystem, type System } from '../support/systems/system.js';

interface Entry {
  id: string;
  kind: string;
  amount_usd: string;
  reason: string | null;
  reference: string | null;
  corrects_entry_id: string | null;
}

describe.each(modes)('payments, %s', (mode) => {
  let system: System;
  let stripe: StripeStub;
  let accountId: string;
  let account: string;
  let owner: Browser;

  beforeAll(async () => {
    stripe = await startStripe();
    system = await startSystem(mode, {
      TOLLGATE_LEDGER_STRIPE_SECRET_KEY: stripe.secretKey,
      TOLLGATE_LEDGER_STRIPE_WEBHOOK_SECRET: stripe.webhookSecret,
      TOLLGATE_LEDGER_STRIPE_API_BASE: stripe.url,
      TOLLGATE_LEDGER_PAYMENT_MIN_USD: '1',
      TOLLGATE_LEDGER_PAYMENT_MAX_USD: '500',
      TOLLGATE_GATEWAY_RPC_TIMEOUT: '1s',
    });
    ({ id: accountId } = await system.json<{ id: string }>('account', 'create', 'Acme'));
    account = `/accounts/${accountId}`;
    for (const role of ['owner', 'developer']) {
      await addMember(system, accountId, `${role}@example.com`, role);
    }
    owner = await browserOf('owner');
  });

  afterAll(async () => {
    await system?.stop();
    await stripe?.stop();
  });

  const browserOf = (name: string): Promise<Browser> => signedIn(system, `${name}@example.com`);

  async function begin(amountUsd: string): Promise<Session> {
    const { id } = await owner.must<{ id: string }>('POST', `${account}/payments`, { amount_usd: amountUsd }, 201);
    return stripe.sessions.find((session) => session.id === id)!;
  }

  const available = async (): Promise<string> => (await owner.get<{ available_usd: string }>(`${account}/balance`)).available_usd;
  const entries = async (): Promise<Entry[]> => (await owner.get<{ data: Entry[] }>(`${account}/entries`)).data;
  const depositsOf = async ({ id }: Session): Promise<Entry[]> =>
    (await entries()).filter(({ kind, reason }) => kind === 'deposit' && reason === `stripe ${id}`);
  const near = (amount: number): unknown => expect.closeTo(amount, 9);
  /** Returns the deposits, less payment refunds, of all months, each of which closes with the sum of its figures. */
  async function netDeposits(): Promise<number> {
    const { data } = await owner.get<{ data: Record<string, string>[] }>(`${account}/statements`);
    for (const month of data) {
      const [opening, deposits, adjustments, charges, refunds, closing] = [
        'opening',
        'deposits',
        'adjustments',
        'charges',
        'refunds',
        'closing',
      ].map((name) => Number(month[`${name}_usd`]));
      expect(closing).toBeCloseTo(opening! + deposits! + adjustments! - charges! + refunds!, 9);
    }
    return data.reduce((sum, { deposits_usd: deposits }) => sum + Number(deposits), 0);
  }
  /** Returns the payment refunds and their reversals in the statements, oldest first. */
  async function statementLines(): Promise<Record<string, string>[]> {
    const { data } = await owner.get<{ data: { month: string }[] }>(`${account}/statements`);
    const lines: Record<string, string>[] = [];
    for (const { month } of data.toReversed()) {
      const path = `${account}/statements/${month}?kind=payment_refund,payment_refund_reversal&order=oldest`;
      lines.push(...(await owner.get<{ data: Record<string, string>[] }>(path)).data);
    }
    return lines;
  }
  /** Returns the balance of the book `cash` in an export of the journal. */
  async function cashUsd(): Promise<number> {
    const exported = await system.cli('ledger', 'export', '--account', accountId);
    return exported
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { debit: string; credit: string; amount_nano_usd: string })
      .reduce(
        (sum, { debit, credit, amount_nano_usd: amount }) =>
          sum + (Number(debit === 'cash') - Number(credit === 'cash')) * (Number(amount) / 1e9),
        0,
      );
  }
  const status = async (sending: Promise<Response>): Promise<number> => (await sending).status;
  const send = (event: Parameters<StripeStub['send']>[1], changes?: Parameters<StripeStub['send']>[2]): Promise<number> =>
    status(stripe.send(system.baseUrl, event, changes));

  it('start on the provider’s page, for amounts within the limits, by roles that may change money', async () => {
    expect(await owner.get(`${account}/payments`)).toEqual({ provider: 'stripe', currency: 'usd', min_usd: '1', max_usd: '500' });
    const { id, url } = await owner.must<{ id: string; url: string }>('POST', `${account}/payments`, { amount_usd: '12.34' }, 201);
    expect(url).toBe(`${stripe.url}/c/pay/${id}`);
    const back = `${system.baseUrl}/console/accounts/${accountId}/billing`;
    expect(stripe.sessions.at(-1)).toMatchObject({
      id,
      amount_total: 1234,
      currency: 'usd',
      client_reference_id: accountId,
      success_url: `${back}?payment=${id}`,
      cancel_url: `${back}?payment=cancelled`,
    });
    for (const amount of ['0.99', '500.01', '5.001', '-5', 'much']) {
      const response = await owner.ask('POST', `${account}/payments`, { amount_usd: amount });
      expect([amount, response.status, ((await response.json()) as { error: { field: string } }).error.field]).toEqual([
        amount,
        400,
        'amount_usd',
      ]);
    }
    expect(await (await browserOf('developer')).refusal('POST', `${account}/payments`, { amount_usd: '5' })).toEqual([
      403,
      'role_not_permitted',
    ]);
    expect(stripe.refusals).toEqual([]);
  });

  it('start once for a repeated request', async () => {
    const begin = async (amount: string) =>
      (await (await owner.ask('POST', `${account}/payments`, { amount_usd: amount }, { 'idempotency-key': 'k1' })).json()) as {
        id: string;
      };
    const [first, second, other] = [await begin('7'), await begin('7'), await begin('8')];
    expect(second.id).toBe(first.id);
    expect(other.id).not.toBe(first.id);
  });

  it('are credited once, however often and concurrently Stripe reports them', async () => {
    const session = await begin('20.05');
    expect(await owner.get(`${account}/payments/${session.id}`)).toMatchObject({ state: 'waiting', entry: null });
    const before = Number(await available());
    const event = stripe.event('checkout.session.completed', stripe.pay(session.id));
    const answers = await Promise.all(Array.from({ length: 10 }, () => send(event)));
    expect(new Set(answers)).toEqual(new Set([200]));
    expect(await send(stripe.event('checkout.session.async_payment_succeeded', session))).toBe(200);
    const deposits = await depositsOf(session);
    expect(deposits).toMatchObject([{ amount_usd: '20.05' }]);
    expect(Number(await available())).toBeCloseTo(before + 20.05, 9);
    expect(await owner.get(`${account}/payments/${session.id}`)).toMatchObject({
      state: 'paid',
      amount_usd: '20.05',
      entry: { id: deposits[0]!.id, kind: 'deposit' },
    });
    const entry = (await system.cli('balance', 'entries', '--account', accountId, '--json'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { idempotency_key: string | null; debit: string });
    expect(entry.filter(({ idempotency_key: key }) => key === `stripe:${session.id}`)).toMatchObject([{ debit: 'cash' }]);
  });

  it('are not credited before the money of a delayed payment method has arrived', async () => {
    const session = await begin('3');
    expect(await send(stripe.event('checkout.session.completed', stripe.pay(session.id, 'later')))).toBe(200);
    expect(await depositsOf(session)).toEqual([]);
    expect(await send(stripe.event('checkout.session.async_payment_succeeded', stripe.pay(session.id)))).toBe(200);
    expect(await depositsOf(session)).toHaveLength(1);
  });

  it('are rejected without a recent signature by Stripe over exactly these bytes', async () => {
    const session = await begin('4');
    const event = stripe.event('checkout.session.completed', stripe.pay(session.id));
    expect(await send(event, { secret: 'whsec_wrong' })).toBe(400);
    expect(await send(event, { atMs: Date.now() - 6 * 60_000 })).toBe(400);
    expect(await send(event, { body: (text) => text.replace('400', '40000') })).toBe(400);
    expect(await send(event, { body: (text) => JSON.stringify(JSON.parse(text)) })).toBe(400);
    expect(await send(event, { header: '' })).toBe(400);
    expect(await send(event, { header: `t=${Math.floor(Date.now() / 1000)},v0=${'0'.repeat(64)}` })).toBe(400);
    expect(await status(fetch(`${system.baseUrl}/payments/stripe/webhook`))).toBe(405);
    expect(await depositsOf(session)).toEqual([]);
    expect(await send(event)).toBe(200);
    expect(await depositsOf(session)).toHaveLength(1);
  });

  it('do not credit an account that another payment of the same Stripe account names', async () => {
    const { id: other } = await system.json<{ id: string }>('account', 'create', 'Other');
    const session = await begin('5');
    const paid = stripe.pay(session.id);
    const forged = (metadata: Record<string, string>) =>
      stripe.event('checkout.session.completed', { ...paid, id: `cs_test_forged${Math.floor(Math.random() * 1e9)}`, metadata });
    const stamps: Record<string, string>[] = [
      {},
      { tollgate_account: accountId },
      { ...paid.metadata, tollgate_account: other },
      { ...paid.metadata, tollgate_reference: 'another' },
      { ...paid.metadata, tollgate_stamp: '.' },
    ];
    for (const metadata of stamps) {
      expect(await send(forged(metadata))).toBe(200);
    }
    expect(await system.json('balance', 'show', '--account', other)).toMatchObject({ available_usd: '0' });
    expect((await entries()).filter(({ reason }) => reason?.includes('forged'))).toEqual([]);
  });

  it('ignore unknown events, and credit nothing in another currency', async () => {
    const before = await available();
    const session = await begin('6');
    const paid = stripe.pay(session.id);
    expect(await send(stripe.event('customer.created', { id: 'cus_1' }))).toBe(200);
    expect(await send(stripe.event('checkout.session.expired', session))).toBe(200);
    for (const changes of [{ currency: 'jpy' }, { amount_total: 600.5 }, { amount_total: null }, { amount_total: -600 }]) {
      expect(await send(stripe.event('checkout.session.completed', { ...paid, ...changes }))).toBe(200);
    }
    expect(await available()).toBe(before);
  });

  it('are credited by querying Stripe if the event does not arrive', async () => {
    const session = await begin('9.5');
    const page = await browserOf('developer');
    expect(await page.get(`${account}/payments/${session.id}`)).toMatchObject({ state: 'waiting' });
    stripe.pay(session.id);
    await eventually(async () =>
      (await page.get<{ state: string }>(`${account}/payments/${session.id}`)).state === 'paid' ? true : undefined,
    );
    expect(await send(stripe.event('checkout.session.completed', session))).toBe(200);
    expect(await depositsOf(session)).toHaveLength(1);
    const { id: other } = await system.json<{ id: string }>('account', 'create', 'Elsewhere');
    await system.cli('member', 'put', 'owner@example.com', '--role', 'owner', '--account', other);
    expect(await owner.get(`/accounts/${other}/payments/${session.id}`)).toMatchObject({ state: 'waiting', entry: null });
    expect(await owner.refusal('GET', `${account}/payments/..%2F..`)).toEqual([404, 'not_found']);
  });

  it('are reversed as far as they are refunded, each part once, linked to their deposit', async () => {
    const deposits = await netDeposits();
    const cash = await cashUsd();
    const session = await begin('30');
    // The event of the refund arrives first.
    stripe.pay(session.id);
    const first = stripe.refund(session, 1000);
    const part = stripe.event('charge.refunded', stripe.charge(session, 1000), { amount_refunded: 0 });
    expect(await Promise.all([send(part), send(part)])).toEqual([200, 200]);
    expect(await send(stripe.event('checkout.session.completed', session))).toBe(200);
    const second = stripe.refund(session, 1550);
    const rest = stripe.event('charge.refunded', stripe.charge(session, 2550), { amount_refunded: 1000 });
    expect([await send(rest), await send(rest)]).toEqual([200, 200]);
    const [deposit] = await depositsOf(session);
    const taken = (await entries()).filter(({ reason }) => reason?.startsWith(`refund of stripe ${session.id}`));
    expect(taken.map(({ kind, amount_usd: amount, corrects_entry_id: of, reference }) => [kind, amount, of, reference])).toEqual([
      ['payment_refund', '15.5', deposit!.id, second.id],
      ['payment_refund', '10', deposit!.id, first.id],
    ]);
    expect([await netDeposits(), await cashUsd()]).toEqual([near(deposits + 4.5), near(cash + 4.5)]);
    // The second refund is canceled, its entry is reversed by the operator, and it is made again.
    second.status = 'canceled';
    expect(await send(stripe.event('refund.updated', second, { status: 'pending' }))).toBe(200);
    const before = Number(await available());
    await system.cli('balance', 'reverse', taken[0]!.id, '--account', accountId, '--reason', 'canceled');
    expect([await netDeposits(), await cashUsd()]).toEqual([near(deposits + 20), near(cash + 20)]);
    stripe.refund(session, 1550);
    expect(await send(stripe.event('charge.refunded', stripe.charge(session, 2550), { amount_refunded: 1000 }))).toBe(200);
    expect(Number(await available())).toBeCloseTo(before, 9);
    expect([await netDeposits(), await cashUsd()]).toEqual([near(deposits + 4.5), near(cash + 4.5)]);
    const lines = await statementLines();
    expect(lines.slice(-3).map(({ kind, effect_usd }) => [kind, effect_usd])).toEqual([
      ['payment_refund', '-15.5'],
      ['payment_refund_reversal', '15.5'],
      ['payment_refund', '-15.5'],
    ]);
    expect(await send(stripe.event('charge.refunded', { ...stripe.charge(session, 2550), metadata: {} }, { amount_refunded: 0 }))).toBe(
      200,
    );
    expect(
      await send(
        stripe.event('charge.dispute.created', {
          id: 'dp_1',
          object: 'dispute',
          status: 'needs_response',
          amount: 450,
          currency: 'usd',
          payment_intent: session.payment_intent,
        }),
      ),
    ).toBe(200);
    // Another shop uses the same Stripe account.
    expect(await send(stripe.event('charge.dispute.created', { id: 'dp_shop', object: 'dispute', payment_intent: 'pi_shop' }))).toBe(200);
    expect(await send(stripe.event('charge.refunded', null as never))).toBe(400);
    const logged = (id: string): boolean => mode === 'distributed' || system.output().includes(id);
    await eventually(() => (logged('dp_1') && logged(second.id) && logged('dp_shop') === (mode === 'distributed') ? true : undefined));
  });

  it('are reversed only up to the available balance, and leave the rest to the operator', async () => {
    const session = await begin('50');
    expect(await send(stripe.event('checkout.session.completed', stripe.pay(session.id)))).toBe(200);
    const before = Number(await available());
    await system.cli('balance', 'adjust', `-${(before - 8).toFixed(9)}`, '--account', accountId, '--reason', 'spent');
    stripe.refund(session, 5000);
    const event = stripe.event('charge.refunded', stripe.charge(session, 5000), { amount_refunded: 0 });
    expect([await send(event), await send(event)]).toEqual([200, 200]);
    expect(await available()).toBe('0');
    await system.cli('balance', 'deposit', '100', '--account', accountId);
    expect(await send(event)).toBe(200);
    expect(await available()).toBe('100');
    const rest = ['--reason', 'rest of the refund', '--entry', (await depositsOf(session))[0]!.id, '--payment-refund'];
    expect(await system.json('balance', 'adjust', '-42', '--account', accountId, ...rest)).toMatchObject({
      entry: { kind: 'payment_refund' },
    });
    expect(await send(event)).toBe(200);
    expect(await available()).toBe('58');
    expect((await system.json<{ drifts?: unknown[] }>('balance', 'verify')).drifts ?? []).toEqual([]);
  });

  it('cannot be started for a suspended account, and neither can its codes be redeemed, but money under way is credited', async () => {
    const session = await begin('2');
    await system.cli('account', 'suspend', accountId, '--reason', 'invoice 7 is unpaid');
    try {
      for (const [path, body] of [
        ['payments', { amount_usd: '5' }],
        ['redemptions', { code: 'TGC-00000-00000-00000-00000' }],
      ] as const) {
        const response = await owner.ask('POST', `${account}/${path}`, body);
        const { error } = (await response.json()) as { error: object };
        expect([response.status, error]).toMatchObject([
          403,
          { code: 'account_suspended', message: 'The operator has suspended this account: invoice 7 is unpaid' },
        ]);
      }
      expect(await send(stripe.event('checkout.session.completed', stripe.pay(session.id)))).toBe(200);
      const [deposit] = await depositsOf(session);
      await eventually(() =>
        mode === 'distributed' || (system.output().includes('"account_suspended"') && system.output().includes(deposit!.id))
          ? true
          : undefined,
      );
    } finally {
      await system.cli('account', 'resume', accountId);
    }
    expect(await owner.must('POST', `${account}/payments`, { amount_usd: '5' }, 201)).toMatchObject({ provider: 'stripe' });
  });

  it('report that the provider is unavailable, and stay pending', async () => {
    stripe.isBroken = true;
    expect(await owner.refusal('POST', `${account}/payments`, { amount_usd: '5' })).toEqual([503, 'upstream_unavailable']);
    stripe.isBroken = false;
  }, 30_000);

  it('are reported again after the ledger was unavailable', async () => {
    const session = await begin('11');
    const event = stripe.event('checkout.session.completed', stripe.pay(session.id));
    if (mode === 'distributed') {
      const { pids } = JSON.parse(readFileSync(join(system.dataDir, 'processes.json'), 'utf8')) as { pids: Record<string, number> };
      process.kill(pids['ledger']!, 'SIGSTOP');
      try {
        expect(await send(event)).toBeGreaterThanOrEqual(500);
      } finally {
        process.kill(pids['ledger']!, 'SIGCONT');
      }
    } else {
      await system.kill();
      await expect(send(event)).rejects.toThrow();
      await system.start();
    }
    expect(await eventually(async () => ((await send(event)) === 200 ? true : undefined))).toBe(true);
    await eventually(async () => ((await depositsOf(session)).length === 1 ? true : undefined));
  }, 60_000);

  it('cannot be used to block other users from Stripe', async () => {
    const before = stripe.refusals.length;
    for (let tens = 0; tens < 8; tens += 1) {
      const shown = await Promise.all(
        Array.from({ length: 10 }, (_, index) => owner.get<{ state: string }>(`${account}/payments/cs_made_up_${tens}${index}`)),
      );
      expect(new Set(shown.map(({ state }) => state))).toEqual(new Set(['waiting']));
    }
    expect(stripe.refusals.length - before).toBeLessThanOrEqual(30);
    expect(stripe.refusals.length - before).toBeGreaterThan(0);
  });

  it('never reveal a Stripe secret', async () => {
    const { data } = await owner.get<{ data: object[] }>(`${account}/audit`);
    expect(JSON.stringify(data)).toContain('account.credit');
    for (const secret of [stripe.secretKey, stripe.webhookSecret]) {
      expect(JSON.stringify(data) + JSON.stringify(stripe.sessions) + system.output()).not.toContain(secret);
    }
  });
});

describe('without a payment provider', () => {
  it('users cannot pay, and the API reports that to the page', async () => {
    const system = await startSystem('single');
    try {
      const { id } = await system.json<{ id: string }>('account', 'create', 'Acme');
      await addMember(system, id, 'owner@example.com', 'owner');
      const owner = await signedIn(system, 'owner@example.com');
      expect(await owner.get(`/accounts/${id}/payments`)).toMatchObject({ provider: null });
      expect(await owner.refusal('POST', `/accounts/${id}/payments`, { amount_usd: '5' })).toEqual([409, 'failed_precondition']);
      expect((await fetch(`${system.baseUrl}/payments/stripe/webhook`, { method: 'POST', body: '{}' })).status).toBe(404);
    } finally {
      await system.stop();
    }
  });
});
