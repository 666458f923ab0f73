// Stripe Checkout (https://docs.stripe.com/payments/checkout): the user pays on Stripe's page, and Stripe reports the payment with signed events.
import type Stripe from 'stripe';
import type { Clock } from '#kit/clock.js';
import { AppError } from '#client/errors/app-error.js';
import { fault } from '#client/errors/fault.js';
import type { Logger } from '#kit/log.js';
import type { Checkout, Paid, PaymentEvent, PaymentProvider } from './provider.js';
import { accountOfStamp, namedAccount, stampOf } from './stamp.js';
import { centsOf, paidOf, refundOf } from './stripe-events.js';

/** How old the signature of an event may be. */
const toleranceSeconds = 300;
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
        return {
          kind: 'review',
          what: event.type,
          details: { dispute: id, status, payment_intent: idOf(intent), amount_cents: String(amount), currency },
        };
      }
      case 'refund.failed': {
        // The amount that was deducted from the balance for the refund stays deducted, although the payer did not receive it.
        const { id, payment_intent: intent, amount, currency, failure_reason: reason } = event.data.object;
        return {
          kind: 'review',
          what: event.type,
          details: { refund: id, payment_intent: idOf(intent), amount_cents: String(amount), currency, reason: reason ?? '' },
        };
      }
      default:
        return { kind: 'ignored' };
    }
  }

  private async verified(body: Buffer, signature: string): Promise<Stripe.Event> {
    const { webhooks } = await this.stripe();
    try {
      return await webhooks.constructEventAsync(
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
  }

  private stampedPaid(session: Stripe.Checkout.Session): ReturnType<typeof paidOf> {
    return paidOf(session, accountOfStamp(session.metadata, this.secrets));
  }

  private paid(session: Stripe.Checkout.Session): PaymentEvent {
    const paid = this.stampedPaid(session);
    if (paid === 'unusable') {
      const { id, currency, amount_total: amount } = session;
      return {
        kind: 'review',
        what: 'a payment that cannot be credited',
        details: { payment: id, currency: String(currency), amount: String(amount) },
      };
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

  private async refunded({
    id: eventId,
    created,
    data: { object: charge, previous_attributes: previous },
  }: Stripe.ChargeRefundedEvent): Promise<PaymentEvent> {
    // Refunds may be made long after both secrets have been replaced, so the stamp alone cannot show that a payment is not ours.
    if (namedAccount(charge.metadata) === undefined) return { kind: 'ignored' };
    const refund = refundOf(charge, previous);
    const intent = idOf(charge.payment_intent);
    if (refund === undefined || intent === '') return { kind: 'ignored' };
    if (refund === 'unusable') {
      const { id, currency, amount_refunded: amount } = charge;
      return {
        kind: 'review',
        what: 'a refund that cannot be deducted from a balance',
        details: { charge: id, payment_intent: intent, currency, amount_refunded: String(amount) },
      };
    }
    const { data } = await this.request((stripe) => stripe.checkout.sessions.list({ payment_intent: intent, limit: 1 }));
    const payment = data[0] === undefined ? 'foreign' : paidOf(data[0], namedAccount(data[0].metadata));
    if (typeof payment === 'string')
      return {
        kind: 'review',
        what: 'a refund of a payment that was not credited',
        details: { charge: charge.id, payment_intent: intent },
      };
    return {
      kind: 'refunded',
      refundId: `${charge.id}:${refund.totalCents}`,
      eventId,
      createdAtMs: created * 1000,
      amountNanoUsd: refund.addedNanoUsd,
      payment,
      isStamped: typeof this.stampedPaid(data[0]!) !== 'string',
    };
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

function idOf(reference: string | { readonly id: string } | null | undefined): string {
  return typeof reference === 'string' ? reference : (reference?.id ?? '');
}
