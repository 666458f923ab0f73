// A stub of the parts of Stripe that Tollgate uses, on loopback: checkout sessions (https://docs.stripe.com/api/checkout/sessions) created
// by form-encoded requests, and events signed as Stripe signs them (https://docs.stripe.com/webhooks/signature).
import { createHmac, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { close, listen } from '#kit/testing/local-server.js';

/** The relevant fields of a checkout session, as Stripe returns them. */
export interface Session {
  id: string;
  object: 'checkout.session';
  mode: string;
  status: 'open' | 'complete' | 'expired';
  payment_status: 'paid' | 'unpaid';
  amount_total: number;
  currency: string;
  client_reference_id: string;
  metadata: Record<string, string>;
  payment_intent: string | null;
  success_url: string;
  cancel_url: string;
  url: string | null;
}

/** The relevant fields of a refund, as Stripe returns them. */
export interface Refund {
  id: string;
  object: 'refund';
  amount: number;
  charge: string;
  payment_intent: string;
  created: number;
  currency: string;
  status: 'succeeded' | 'failed' | 'canceled';
}

/** An event to send. */
export interface StripeEvent {
  id: string;
  object: 'event';
  type: string;
  created: number;
  livemode: boolean;
  data: { object: object; previous_attributes?: object };
}

/** A running stub. */
export interface StripeStub {
  readonly url: string;
  readonly secretKey: string;
  readonly webhookSecret: string;
  readonly sessions: Session[];
  /** Requests that were refused, by status. */
  readonly refusals: number[];
  /** If true, every request is answered with a 500. */
  isBroken: boolean;
  /** Completes the payment as the payer does on Stripe's page. Returns the session afterwards. */
  pay(id: string, how?: 'at once' | 'later'): Session;
  event(type: string, object: object, previous?: object): StripeEvent;
  /** Returns the charge of a session's payment with this amount refunded. */
  charge(session: Session, refundedCents: number): object;
  /** Refunds a part of a session's payment, without an event. */
  refund(session: Session, cents: number): Refund;
  /** Sends an event to the gateway; `changes` make it invalid. */
  send(
    baseUrl: string,
    event: StripeEvent,
    changes?: { secret?: string; atMs?: number; body?: (text: string) => string; header?: string },
  ): Promise<Response>;
  stop(): Promise<void>;
}

/** Starts a stub. */
export async function startStripe(): Promise<StripeStub> {
  const sessions: Session[] = [];
  const refunds: Refund[] = [];
  const byKey = new Map<string, { body: string; session: Session }>();
  const refusals: number[] = [];
  const chargeMetadata = new Map<string, Record<string, string>>();
  const secretKey = `sk_test_${randomBytes(12).toString('hex')}`;
  const webhookSecret = `whsec_${randomBytes(16).toString('hex')}`;

  const stub: StripeStub = {
    url: '',
    secretKey,
    webhookSecret,
    sessions,
    refusals,
    isBroken: false,
    pay(id, how = 'at once') {
      const session = sessions.find((each) => each.id === id)!;
      Object.assign(session, {
        status: 'complete',
        payment_status: how === 'at once' ? 'paid' : 'unpaid',
        url: null,
        payment_intent: session.payment_intent ?? newId('pi'),
      });
      return session;
    },
    event: (type, object, previous) => ({
      id: newId('evt'),
      object: 'event',
      type,
      created: Math.floor(Date.now() / 1000),
      livemode: false,
      data: { object: structuredClone(object), ...(previous === undefined ? {} : { previous_attributes: previous }) },
    }),
    refund(session, cents) {
      const refund: Refund = {
        id: newId('re'),
        object: 'refund',
        amount: cents,
        charge: chargeOf(session),
        payment_intent: session.payment_intent!,
        created: Math.floor(Date.now() / 1000),
        currency: session.currency,
        status: 'succeeded',
      };
      refunds.push(refund);
      return refund;
    },
    charge: (session, refundedCents) => ({
      id: chargeOf(session),
      object: 'charge',
      amount: session.amount_total,
      amount_refunded: refundedCents,
      currency: session.currency,
      payment_intent: session.payment_intent,
      refunded: refundedCents === session.amount_total,
      metadata: chargeMetadata.get(session.id) ?? {},
    }),
    async send(baseUrl, event, { secret = webhookSecret, atMs = Date.now(), body = (text: string) => text, header } = {}) {
      const text = JSON.stringify(event, null, 2);
      const seconds = Math.floor(atMs / 1000);
      const signature =
        header ?? `t=${seconds},v1=${createHmac('sha256', secret).update(`${seconds}.${text}`).digest('hex')},v0=${'0'.repeat(64)}`;
      return fetch(`${baseUrl}/payments/stripe/webhook`, {
        method: 'POST',
        headers: { 'content-type': 'application/json; charset=utf-8', 'stripe-signature': signature, 'user-agent': 'Stripe/1.0' },
        body: body(text),
      });
    },
    stop: async () => undefined,
  };

  function refuse(response: ServerResponse, status: number, message: string): void {
    refusals.push(status);
    response
      .writeHead(status, { 'content-type': 'application/json', 'request-id': newId('req') })
      .end(JSON.stringify({ error: { type: status === 401 ? 'invalid_request_error' : 'api_error', message } }));
  }

  function create(request: IncomingMessage, body: string, response: ServerResponse): void {
    if (!String(request.headers['content-type']).startsWith('application/x-www-form-urlencoded'))
      return refuse(response, 400, 'Requests are form-encoded.');
    const key = String(request.headers['idempotency-key'] ?? '');
    const known = byKey.get(key);
    if (known !== undefined)
      return known.body === body
        ? answer(response, known.session)
        : refuse(response, 400, 'Keys for idempotent requests can only be used with the same parameters.');
    const form = new URLSearchParams(body);
    const part = (name: string): string => form.get(name) ?? '';
    const maps = (prefix: string): Record<string, string> =>
      Object.fromEntries(
        [...form].flatMap(([name, value]) => (name.startsWith(`${prefix}[`) ? [[name.slice(prefix.length + 1, -1), value] as const] : [])),
      );
    const amount = Number(part('line_items[0][price_data][unit_amount]')) * Number(part('line_items[0][quantity]'));
    if (part('mode') !== 'payment' || part('line_items[0][price_data][currency]') !== 'usd' || !Number.isInteger(amount) || amount < 50)
      return refuse(response, 400, 'Invalid parameters.');
    const id = `cs_test_${randomBytes(29).toString('hex')}`;
    const session: Session = {
      id,
      object: 'checkout.session',
      mode: 'payment',
      status: 'open',
      payment_status: 'unpaid',
      amount_total: amount,
      currency: 'usd',
      client_reference_id: part('client_reference_id'),
      metadata: maps('metadata'),
      payment_intent: null,
      success_url: part('success_url').replace('{CHECKOUT_SESSION_ID}', id),
      cancel_url: part('cancel_url'),
      url: `${stub.url}/c/pay/${id}`,
    };
    chargeMetadata.set(id, maps('payment_intent_data[metadata]'));
    sessions.push(session);
    byKey.set(key, { body, session });
    answer(response, session);
  }

  const server = createServer(async (request, response) => {
    const body = await text(request);
    const url = new URL(request.url ?? '/', 'http://stripe.invalid');
    if (url.pathname.startsWith('/c/pay/')) return payersPage(url, response);
    if (stub.isBroken) return refuse(response, 500, 'Something is wrong on our end.');
    if (request.headers.authorization !== `Bearer ${secretKey}`) return refuse(response, 401, 'Invalid API Key provided.');
    if (request.method === 'POST' && url.pathname === '/v1/checkout/sessions') return create(request, body, response);
    if (request.method === 'GET' && url.pathname === '/v1/checkout/sessions') {
      const intent = url.searchParams.get('payment_intent');
      return answer(response, {
        object: 'list',
        url: '/v1/checkout/sessions',
        has_more: false,
        data: sessions.filter(({ payment_intent: each }) => each === intent),
      });
    }
    if (request.method === 'GET' && url.pathname === '/v1/refunds') {
      const data = refunds.filter(({ charge }) => charge === url.searchParams.get('charge'));
      return answer(response, { object: 'list', url: '/v1/refunds', has_more: false, data });
    }
    const session = sessions.find(({ id }) => url.pathname === `/v1/checkout/sessions/${id}`);
    return request.method === 'GET' && session !== undefined
      ? answer(response, session)
      : refuse(response, 404, 'No such checkout.session.');
  });

  /** Serves Stripe's payment page, with a button that pays and a link that cancels. */
  function payersPage(url: URL, response: ServerResponse): void {
    const session = sessions.find(({ id }) => url.pathname === `/c/pay/${id}`);
    if (session === undefined) return void response.writeHead(404).end();
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
    response.end(
      `<!doctype html><title>Checkout</title><h1>Pay $${(session.amount_total / 100).toFixed(2)}</h1><a id="pay" href="${session.success_url}">Pay</a> <a id="back" href="${session.cancel_url}">Back</a>`,
    );
  }

  return Object.assign(stub, {
    url: `http://127.0.0.1:${await listen(server)}`,
    stop: () => close(server),
  });
}

function chargeOf(session: Session): string {
  return `ch_${session.payment_intent!.slice(3)}`;
}

function answer(response: ServerResponse, body: object): void {
  response.writeHead(200, { 'content-type': 'application/json', 'request-id': newId('req') }).end(JSON.stringify(body));
}

function newId(prefix: string): string {
  return `${prefix}_${randomBytes(12).toString('hex')}`;
}
