// The payment provider that the settings name, if any.
import type { Clock } from '#kit/clock.js';
import { ConfigError, type Values } from '#kit/config/settings.js';
import type { Logger } from '#kit/log.js';
import type { PaymentProvider } from './provider.js';
import type { paymentSettings } from './settings.js';
import { StripeProvider } from './stripe.js';

/** Undefined: nobody can pay, and money comes by the operator alone. Raises ConfigError when only half of it is set. */
export function createPayments(
  config: Values<typeof paymentSettings>,
  deps: { readonly clock: Clock; readonly log: Logger },
): PaymentProvider | undefined {
  const {
    stripeSecretKey: secretKey,
    stripeWebhookSecret: webhookSecret,
    stripeApiBase: apiBase,
    paymentMinNanoUsd,
    paymentMaxNanoUsd,
  } = config;
  if (secretKey === undefined && webhookSecret === undefined) return undefined;
  const faults = [
    ...(secretKey === undefined || webhookSecret === undefined
      ? ['TOLLGATE_GATEWAY_STRIPE_SECRET_KEY and TOLLGATE_GATEWAY_STRIPE_WEBHOOK_SECRET must be set together']
      : []),
    ...(URL.canParse(apiBase) ? [] : ['TOLLGATE_GATEWAY_STRIPE_API_BASE must be an address such as https://api.stripe.com']),
    ...(paymentMinNanoUsd > paymentMaxNanoUsd
      ? ['TOLLGATE_GATEWAY_PAYMENT_MIN_USD must not be above TOLLGATE_GATEWAY_PAYMENT_MAX_USD']
      : []),
  ];
  if (faults.length > 0) throw new ConfigError(faults);
  return new StripeProvider({ secretKey: secretKey!, webhookSecret: webhookSecret!, apiBase }, deps);
}
