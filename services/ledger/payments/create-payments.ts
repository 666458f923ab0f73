// Payments as a module of their own, with a contract, in the ledger's process.
import type { Clock } from '#kit/clock.js';
import type { Values } from '#kit/config/settings.js';
import type { ServiceModule } from '#kit/lifecycle.js';
import type { Logger } from '#kit/log.js';
import type { PaymentService } from '#proto/ledger/v1/payments.js';
import type { PaymentDeps } from './deps.js';
import type { PaymentProvider } from './provider.js';
import { paymentService } from './service.js';
import { assertPayments, type paymentSettings } from './settings.js';
import { StripeProvider } from './stripe.js';

/** Holds what payments need from their process. */
export interface PaymentModuleDeps {
  /** The ledger's module. */
  readonly ledger: ServiceModule<PaymentDeps['ledger']>;
  readonly accounts: PaymentDeps['accounts'];
  readonly clock: Clock;
  readonly log: Logger;
}

/** Creates the payments module over the ledger. Raises ConfigError for settings that contradict each other. */
export function createPayments(
  config: Values<typeof paymentSettings>,
  { ledger, accounts, clock, log }: PaymentModuleDeps,
): ServiceModule<PaymentService> {
  const provider = createProvider(config, { clock, log });
  return {
    name: 'payments',
    service: paymentService({ provider, ledger: ledger.service, accounts, limits: config, clock, log }),
    start: async () => undefined,
    stop: async () => undefined,
    ready: () => ledger.ready(),
  };
}

/** Returns the payment provider that the settings name. Undefined: only the operator can add funds. Raises ConfigError for settings that contradict each other. */
export function createProvider(
  config: Values<typeof paymentSettings>,
  deps: { readonly clock: Clock; readonly log: Logger },
): PaymentProvider | undefined {
  assertPayments(config);
  const { stripeSecretKey: secretKey, stripeWebhookSecret: webhookSecret, stripeApiBase: apiBase } = config;
  if (secretKey === undefined || webhookSecret === undefined) return undefined;
  return new StripeProvider({ secretKey, webhookSecret, apiBase }, deps);
}
