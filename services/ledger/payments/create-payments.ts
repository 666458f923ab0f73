// Payments as a module of their own, with a contract, in the ledger's process.
import type { Clock } from '#kit/clock.js';
import { ConfigError, type Values } from '#kit/config/settings.js';
import type { ServiceModule } from '#kit/lifecycle.js';
import type { Logger } from '#kit/log.js';
import type { PaymentService } from '#proto/ledger/v1/payments.js';
import type { PaymentDeps } from './deps.js';
import type { PaymentProvider } from './provider.js';
import { paymentService } from './service.js';
import type { paymentSettings } from './settings.js';
import { StripeProvider } from './stripe.js';

/** Holds what payments need from their process. */
export interface PaymentModuleDeps {
  /** The ledger's module. */
  readonly ledger: ServiceModule<PaymentDeps['ledger']>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Creates the payments module over the ledger. Raises ConfigError for settings that contradict each other. */
export function createPayments(
  config: Values<typeof paymentSettings>,
  { ledger, clock, log }: PaymentModuleDeps,
): ServiceModule<PaymentService> {
  const provider = createProvider(config, { clock, log });
  return {
    name: 'payments',
    service: paymentService({ provider, ledger: ledger.service, limits: config, clock, log }),
    start: async () => undefined,
    stop: async () => undefined,
    ready: () => ledger.ready(),
  };
}

/** Returns the payment provider that the settings name. Undefined: only the operator can add funds. Raises ConfigError when it is only partly configured. */
export function createProvider(
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
      ? ['TOLLGATE_LEDGER_STRIPE_SECRET_KEY and TOLLGATE_LEDGER_STRIPE_WEBHOOK_SECRET must be set together']
      : []),
    ...(URL.canParse(apiBase) ? [] : ['TOLLGATE_LEDGER_STRIPE_API_BASE must be an address such as https://api.stripe.com']),
    ...(paymentMinNanoUsd > paymentMaxNanoUsd ? ['TOLLGATE_LEDGER_PAYMENT_MIN_USD must not be above TOLLGATE_LEDGER_PAYMENT_MAX_USD'] : []),
  ];
  if (faults.length > 0) throw new ConfigError(faults);
  return new StripeProvider({ secretKey: secretKey!, webhookSecret: webhookSecret!, apiBase }, deps);
}
