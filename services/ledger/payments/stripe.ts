// Stripe Checkout (https://docs.stripe.com/payments/checkout): the user pays on Stripe's page, and Stripe reports the payment with signed events.
import type Stripe from 'stripe';
import type { Clock } from '#kit/clock.js';
import { AppError } from '#client/errors/app-error.js';
import { fault } from '#client/errors/fault.js';
import type { Logger } from '#kit/log.js';
import type { Checkout, Paid, PaymentEvent, PaymentProvider, ReviewKind } from './provider.js';
import { accountOfStamp, namedAccount, stampOf } from './stamp.js';
import { centsOf, hasFailed, paidOf, refundsOf } from './stripe-events.js';

/** How old the signature of an event may be. */
const toleranceSeconds = 300;
/** How many refunds of a charge are read. */
const refundsMax = 1000;
const timeoutMs = 10_000;
const retriesMax = 2;

/** Holds the Stripe account to use, and the address of its API. */
export interface StripeSettings {
  readonly secretKey: string;
  readonly webhookSecret: string;
  readonly apiBase: string;
}

/** Stripe as a payment provider. */
export class StripeProvider implements PaymentProvider {
  readonly name = 'stripe';
  private client: Promise<Stripe> | undefined;
  private readonly secrets: readonly string[];

  constructor(
    private readonly settings: StripeSettings,
    private readonly deps: { readonly clock: Clock; readonly log: Logger },
  ) {
    this.secrets = [settings.secretKey, settings.webhookSecret];
  }

  async beginCheckout({ accountId, amountNanoUsd, reference, doneUrl, cancelledUrl }: Checkout): Promise<{ id: string; url: string }> {
    const metadata = { ...stampOf(accountId, reference, this.secrets) };
    const session = await this.request((stripe) =>
      stripe.checkout.sessions.create(
        {
          mode: 'payment',
          // Only US dollars are credited. The setting in Stripe's dashboard may let payers choose their own currency
          // (https://docs.stripe.com/changelog/acacia/2024-11-20/adaptive-pricing-param).
          adaptive_pricing: { enabled: false },
          line_items: [
            {
              quantity: 1,
              price_data: { currency: 'usd', unit_amount: centsOf(amountNanoUsd), product_data: { name: `Balance of ${accountId}` } },
            },
          ],
          success_url: doneUrl.replace('{payment}', '{CHECKOUT_SESSION_ID}'),
          cancel_url: cancelledUrl,
          client_reference_id: accountId,
          metadata,
          // Needed for refunds, whose events contain only the charge.
          payment_intent_data: { metadata },
        },
        // Two accounts may choose the same reference, and Stripe rejects a key that is used again with other parameters.
        { idempotencyKey: `tollgate-${accountId}-${reference}` },
      ),
    );
    if (session.url === null) throw new AppError('upstream_failed', 'The payment provider started a payment without a checkout page.');
    return { id: session.id, url: session.url };
  }

  async findPaid(paymentId: string): Promise<Paid | undefined> {
    const paid = this.stampedPaid(await this.request((stripe) => stripe.checkout.sessions.retrieve(paymentId)));
    return typeof paid === 'string' ? undefined : paid;
  }

  async readEvent(body: Buffer, signature: string): Promise<PaymentEvent> {
    const event = await this.verified(body, signature);
    switch (event.type) {
      case 'checkout.session.completed':
      case 'checkout.session.async_payment_succeeded':
        return this.paid(event.data.object);
      case 'charge.refunded':
        return this.refunded(event);
      case 'charge.dispute.created':
      case 'charge.dispute.closed':
      case 'charge.dispute.funds_withdrawn':
      case 'charge.dispute.funds_reinstated': {
        const { id, status, payment_intent: intent, amount, currency } = event.data.object;
        return this.review('dispute', event.type, intent, { dispute: id, status, amount_cents: String(amount), currency });
      }
      // Stripe sends several of these events for one refund: which of them depends on the payment method and the API version of the endpoint
      // (https://docs.stripe.com/api/events/types).
      case 'refund.failed':
      case 'refund.updated':
      case 'charge.refund.updated':
        return hasFailed(event.data.object) ? this.failedRefund(event.type, event.data.object) : { kind: 'ignored' };
      default:
        return { kind: 'ignored' };
    }
  }

  private async verified(body: Buffer, signature: string): Promise<Stripe.Event> {
    const { webhooks } = await this.stripe();
    let event: Stripe.Event;
    try {
      event = await webhooks.constructEventAsync(
        body,
        signature,
        this.settings.webhookSecret,
        toleranceSeconds,
        undefined,
        this.deps.clock.nowMs(),
      );
    } catch {
      // The error contains the whole request, twice: any sender could fill the log with it.
      this.deps.log.warn({ bytes: body.length }, 'an event without a valid recent Stripe signature was rejected');
      throw new AppError('invalid_request', 'The signature of the event is missing, wrong or too old.', {
        details: { field: 'stripe-signature' },
      });
    }
    const { data } = (event ?? {}) as { data?: { object?: unknown } | null };
    if (typeof data?.object !== 'object' || data.object === null)
      throw new AppError('invalid_request', 'The body must be an event with `data.object`.', { details: { field: 'data' } });
    return event;
  }

  private stampedPaid(session: Stripe.Checkout.Session): ReturnType<typeof paidOf> {
    return paidOf(session, accountOfStamp(session.metadata, this.secrets));
  }

  private paid(session: Stripe.Checkout.Session): PaymentEvent {
    const paid = this.stampedPaid(session);
    if (paid === 'unusable') {
      const { currency, amount_total: amount } = session;
      return reviewOf('payment_not_credited', 'a payment that cannot be credited', this.ours(session), {
        currency: String(currency),
        amount: String(amount),
      });
    }
    if (typeof paid !== 'string') return { kind: 'paid', ...paid };
    const accountId = namedAccount(session.metadata);
    if (paid === 'foreign' && accountId !== undefined && session.payment_status === 'paid')
      this.deps.log.warn(
        { payment: session.id, account_id: accountId, amount_cents: session.amount_total, currency: session.currency },
        'a payment names an account, but its stamp is unknown, so it was not credited: it belongs to another installation, or was begun before both secrets were replaced',
      );
    return { kind: 'ignored' };
  }

  private async refunded({ id: eventId, data: { object: charge } }: Stripe.ChargeRefundedEvent): Promise<PaymentEvent> {
    // Refunds may be made long after both secrets have been replaced, so the stamp alone cannot show that a payment is not ours.
    if (namedAccount(charge.metadata) === undefined) return { kind: 'ignored' };
    const intent = idOf(charge.payment_intent);
    if (intent === '') return { kind: 'ignored' };
    const session = await this.sessionOf(intent);
    const payment = session === undefined ? 'foreign' : paidOf(session, namedAccount(session.metadata));
    if (session === undefined || typeof payment === 'string' || charge.currency !== 'usd') {
      const { id, currency, amount_refunded: amount } = charge;
      const what = charge.currency === 'usd' ? 'a refund of a payment that was not credited' : 'a refund that is not in US dollars';
      const details = { charge: id, payment_intent: intent, currency, amount_refunded: String(amount) };
      return reviewOf('refund_not_deducted', what, session === undefined ? undefined : this.ours(session), details);
    }
    // The event contains no refunds (https://docs.stripe.com/changelog/acacia/2024-10-28/refund-webhook-update).
    const refunds = await this.request((stripe) =>
      stripe.refunds.list({ charge: charge.id, limit: 100 }).autoPagingToArray({ limit: refundsMax }),
    );
    const { isStamped } = this.ours(session)!;
    return { kind: 'refunded', eventId, payment, isStamped, refunds: refundsOf(refunds) };
  }

  /** Returns a refund that failed or was canceled: what was deducted for it stays deducted, although the payer does not receive it. */
  private failedRefund(what: string, refund: Stripe.Refund): Promise<PaymentEvent> {
    const { id: refundId, status, amount, currency, failure_reason: reason } = refund;
    const details = { refund: refundId, status: String(status), amount_cents: String(amount), currency, reason: reason ?? '' };
    return this.review('refund_failed', what, refund.payment_intent, details, refundId);
  }

  /** Returns an event about the payment of an intent for an operator to review. Other shops may use the same Stripe account; their events are ignored. */
  private async review(
    review: ReviewKind,
    what: string,
    intent: Parameters<typeof idOf>[0],
    details: Readonly<Record<string, string>>,
    refundId?: string,
  ): Promise<PaymentEvent> {
    const session = idOf(intent) === '' ? undefined : await this.sessionOf(idOf(intent));
    const ours = session === undefined ? undefined : this.ours(session);
    if (ours === undefined) return { kind: 'ignored' };
    return reviewOf(review, what, ours, { payment_intent: idOf(intent), ...details }, refundId);
  }

  private async sessionOf(intent: string): Promise<Stripe.Checkout.Session | undefined> {
    return (await this.request((stripe) => stripe.checkout.sessions.list({ payment_intent: intent, limit: 1 }))).data[0];
  }

  /** Returns the payment of a session whose metadata name an account, and whether its stamp is valid. */
  private ours({ id: paymentId, metadata }: Stripe.Checkout.Session): Ours | undefined {
    const accountId = namedAccount(metadata);
    return accountId === undefined ? undefined : { paymentId, accountId, isStamped: accountOfStamp(metadata, this.secrets) !== undefined };
  }

  private async request<T>(work: (stripe: Stripe) => Promise<T>): Promise<T> {
    try {
      return await work(await this.stripe());
    } catch (error) {
      const { type, code, message } = error as { type?: string; code?: string; message?: string };
      this.deps.log.error({ err: { type, code, message } }, 'Stripe rejected a request or could not be reached');
      throw fault('payments_unavailable', {}, { cause: error });
    }
  }

  /** Loads Stripe's library on first use, because a ledger without payments starts faster without it. */
  private stripe(): Promise<Stripe> {
    return (this.client ??= this.connect());
  }

  private async connect(): Promise<Stripe> {
    const { Stripe: Client } = await import('stripe');
    const { protocol, hostname, port } = new URL(this.settings.apiBase);
    const isPlain = protocol === 'http:';
    return new Client(this.settings.secretKey, {
      protocol: isPlain ? 'http' : 'https',
      host: hostname,
      port: port === '' ? (isPlain ? 80 : 443) : Number(port),
      timeout: timeoutMs,
      maxNetworkRetries: retriesMax,
      telemetry: false,
    });
  }
}

/** Holds a payment whose metadata name an account, and whether they are certainly ours. */
interface Ours {
  readonly paymentId: string;
  readonly accountId: string;
  readonly isStamped: boolean;
}

function reviewOf(
  review: ReviewKind,
  what: string,
  ours: Ours | undefined,
  details: Readonly<Record<string, string>>,
  refundId?: string,
): PaymentEvent {
  const isStamped = ours?.isStamped ?? false;
  const payment = ours === undefined ? undefined : { paymentId: ours.paymentId, accountId: ours.accountId };
  return { kind: 'review', review, what, payment, isStamped, ...(refundId === undefined ? {} : { refundId }), details };
}

function idOf(reference: string | { readonly id: string } | null | undefined): string {
  return typeof reference === 'string' ? reference : (reference?.id ?? '');
}
