// The dependencies of payments.
import { fault } from '#client/errors/fault.js';
import type { Clock } from '#kit/clock.js';
import type { Values } from '#kit/config/settings.js';
import type { Logger } from '#kit/log.js';
import type { BookingDeps } from './booking.js';
import type { PaymentProvider } from './provider.js';
import type { paymentSettings } from './settings.js';

/** Holds the dependencies that every RPC of payments receives. */
export interface PaymentDeps {
  /** Undefined: users cannot pay here. */
  readonly provider: PaymentProvider | undefined;
  /** The ledger itself, which does not check the caller again. */
  readonly ledger: BookingDeps['ledger'];
  readonly accounts: BookingDeps['accounts'];
  readonly limits: Pick<Values<typeof paymentSettings>, 'paymentMinNanoUsd' | 'paymentMaxNanoUsd'>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Returns the provider. Raises failed_precondition if none is configured. */
export function providerOf({ provider }: PaymentDeps): PaymentProvider {
  if (provider === undefined) throw fault('no_payments', {});
  return provider;
}
