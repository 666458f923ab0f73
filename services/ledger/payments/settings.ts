// The settings of payments, which are off unless both secrets of a provider are set.
import { optionalText, type Setting, type Settings, text } from '#kit/config/settings.js';
import { formatUsd, parseUsd } from '#rules/money.js';

function amount(env: string, description: string, standard: bigint): Setting<bigint> {
  return {
    env,
    description,
    default: standard,
    show: formatUsd,
    parse(value) {
      const nanoUsd = parseUsd(value);
      // Whole cents, within what card networks can charge.
      if (nanoUsd === undefined || nanoUsd < 500_000_000n || nanoUsd > 999_999_990_000_000n || nanoUsd % 10_000_000n !== 0n)
        throw new Error('must be an amount in whole cents, from "0.50" to "999999.99"');
      return nanoUsd;
    },
  };
}

/** The settings of payments. */
export const paymentSettings = {
  stripeSecretKey: optionalText(
    'TOLLGATE_LEDGER_STRIPE_SECRET_KEY',
    "secret or restricted key of a Stripe account; with the webhook's secret, it enables payments by Stripe Checkout",
    { secret: true },
  ),
  stripeWebhookSecret: optionalText(
    'TOLLGATE_LEDGER_STRIPE_WEBHOOK_SECRET',
    'signing secret of the Stripe webhook endpoint /payments/stripe/webhook',
    { secret: true },
  ),
  stripeApiBase: text('TOLLGATE_LEDGER_STRIPE_API_BASE', "base URL of Stripe's API; changed only for tests", {
    default: 'https://api.stripe.com',
  }),
  paymentMinNanoUsd: amount('TOLLGATE_LEDGER_PAYMENT_MIN_USD', 'minimum amount of a payment, in USD', 5_000_000_000n),
  paymentMaxNanoUsd: amount('TOLLGATE_LEDGER_PAYMENT_MAX_USD', 'maximum amount of a payment, in USD', 1_000_000_000_000n),
} satisfies Settings;
