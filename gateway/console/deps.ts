// What the console's API works with.
import type { Clock } from '#kit/clock.js';
import type { Logger } from '#kit/log.js';
import type { GatewayConfig } from '../config.js';
import type { KeyReplica } from '../replicas/keys.js';
import type { ModelReplica } from '../replicas/models.js';
import type { SpoolState } from '../call/spool/spool.js';
import type { OidcSettings } from './oidc/provider.js';
import type { ConsolePeers } from './peers.js';

/** The settings that the console reads. */
export type ConsoleConfig = Pick<
  GatewayConfig,
  'rpcTimeoutMs' | 'trustProxy' | 'publicUrl' | 'signUp' | 'confirmAboveNanoUsd' | 'oidcSignUp' | 'traceUrl' | keyof OidcSettings
>;

/** How this gateway itself stands. */
export interface GatewayState {
  /** The parts without which calls cannot be served. */
  readiness(): Promise<string[]>;
  spoolState(): Promise<SpoolState>;
  isDraining(): boolean;
  readonly keys: Pick<KeyReplica, 'feed'>;
  readonly models: Pick<ModelReplica, 'feed'>;
  readonly checkpoints: { count(): number };
}

/** Handed to every route. */
export interface ConsoleDeps extends GatewayState {
  readonly peers: ConsolePeers;
  readonly config: ConsoleConfig;
  readonly clock: Clock;
  readonly log: Logger;
}
