// The settings of payments, which are off unless both secrets of a provider are set.
import { headerSecret } from '#kit/config/forms.js';
import { checkTogether, ConfigError, optionalText, type Setting, type Settings, type Values } from '#kit/config/settings.js';
import { formatUsd, parseUsd } from '#rules/money/money.js';

function amount(env: string, description: string, byDefault: bigint): Setting<bigint> {
  return {
    env,
    description,
    default: byDefault,
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

/** Rejects keys of Stripe of another kind, which are easily mixed up. */
function stripeKey(setting: Setting<string | undefined>, otherKinds: RegExp, expected: string): Setting<string | undefined> {
  return {
    ...setting,
    parse(value) {
      const key = setting.parse(value);
      if (key !== undefined && otherKinds.test(key)) throw new Error(`must be ${expected}`);
      return key;
    },
  };
}

/** The settings of payments. */
export const paymentSettings = {
  stripeSecretKey: stripeKey(
    headerSecret(
      'TOLLGATE_LEDGER_STRIPE_SECRET_KEY',
      "secret or restricted key of a Stripe account; with the webhook's secret, it enables payments by Stripe Checkout",
    ),
    /^(pk|whsec)_/,
    'a secret key (sk_…) or a restricted key (rk_…) of Stripe, not a publishable key (pk_…) or the signing secret of a webhook (whsec_…)',
  ),
  stripeWebhookSecret: stripeKey(
    optionalText('TOLLGATE_LEDGER_STRIPE_WEBHOOK_SECRET', 'signing secret of the Stripe webhook endpoint /payments/stripe/webhook', {
      secret: true,
    }),
    /^(pk|sk|rk)_/,
    'the signing secret of a Stripe webhook endpoint (whsec_…), not an API key',
  ),
  stripeApiBase: {
    env: 'TOLLGATE_LEDGER_STRIPE_API_BASE',
    description: "base URL of Stripe's API; changed only for tests",
    default: 'https://api.stripe.com',
    parse(value: string): string {
      if (!URL.canParse(value)) throw new Error('must be an address such as https://api.stripe.com');
      return value;
    },
  },
  paymentMinNanoUsd: amount('TOLLGATE_LEDGER_PAYMENT_MIN_USD', 'minimum amount of a payment, in USD', 5_000_000_000n),
  paymentMaxNanoUsd: amount('TOLLGATE_LEDGER_PAYMENT_MAX_USD', 'maximum amount of a payment, in USD', 1_000_000_000_000n),
} satisfies Settings;

/** Raises ConfigError when the settings contradict each other, whether or not there is a provider: it may be added later. */
export function assertPayments({
  stripeSecretKey,
  stripeWebhookSecret,
  paymentMinNanoUsd,
  paymentMaxNanoUsd,
}: Values<typeof paymentSettings>): void {
  const faults: string[] = [];
  if ((stripeSecretKey === undefined) !== (stripeWebhookSecret === undefined))
    faults.push('TOLLGATE_LEDGER_STRIPE_SECRET_KEY and TOLLGATE_LEDGER_STRIPE_WEBHOOK_SECRET must be set together');
  if (paymentMinNanoUsd > paymentMaxNanoUsd)
    faults.push('TOLLGATE_LEDGER_PAYMENT_MIN_USD must not be above TOLLGATE_LEDGER_PAYMENT_MAX_USD');
  if (faults.length > 0) throw new ConfigError(faults);
}

/** Checks that the settings fit together. */
export const paymentCheck = checkTogether(paymentSettings, assertPayments);
