// What the console's API works with.
import type { Clock } from '#kit/clock.js';
import type { Logger } from '#kit/log.js';
import type { GatewayConfig } from '../config.js';
import type { PaymentProvider } from '../payments/provider.js';
import type { OidcSettings } from './oidc/provider.js';
import type { ConsolePeers } from './peers.js';

/** The settings that the console reads. */
export type ConsoleConfig = Pick<GatewayConfig, 'rpcTimeoutMs' | 'trustProxy' | 'publicUrl' | 'paymentMinNanoUsd' | 'paymentMaxNanoUsd' | 'signUp' | 'confirmAboveNanoUsd' | 'oidcSignUp' | 'traceUrl' | keyof OidcSettings>;

/** Handed to every route. */
export interface ConsoleDeps {
  readonly peers: ConsolePeers;
  readonly config: ConsoleConfig;
  /** Undefined: nobody can pay here. */
  readonly payments: PaymentProvider | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}
