// What payments work with.
import type { Clock } from '#kit/clock.js';
import type { Values } from '#kit/config/settings.js';
import type { Logger } from '#kit/log.js';
import type { LedgerService } from '#proto/ledger/v1/ledger.js';
import { AppError } from '#client/errors/app-error.js';
import type { PaymentProvider } from './provider.js';
import type { paymentSettings } from './settings.js';

/** Handed to every RPC about payments. */
export interface PaymentDeps {
  /** Undefined: nobody can pay here. */
  readonly provider: PaymentProvider | undefined;
  /** The ledger itself, behind which no caller is checked again. */
  readonly ledger: Pick<LedgerService, 'deposit' | 'adjust' | 'getBalance' | 'getEntryByIdempotencyKey'>;
  readonly limits: Pick<Values<typeof paymentSettings>, 'paymentMinNanoUsd' | 'paymentMaxNanoUsd'>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The provider. Raises failed_precondition where none is set up. */
export function providerOf({ provider }: PaymentDeps): PaymentProvider {
  if (provider === undefined)
    throw new AppError('failed_precondition', 'No payment provider is set up here; ask the operator to add money.');
  return provider;
}
