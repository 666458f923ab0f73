// The dependencies of the console's API.
import type { Middleware } from 'koa';
import type { Clock } from '#kit/clock.js';
import type { Values } from '#kit/config/settings.js';
import type { Logger } from '#kit/log.js';
import type { SpoolState } from '../call/recording/spool/spool.js';
import type { GatewayConfig } from '../config.js';
import type { Limiter } from '../limits/limiter.js';
import type { limitSettings } from '../limits/settings.js';
import type { KeyReplica } from '../replicas/keys.js';
import type { ModelReplica } from '../replicas/models.js';
import type { GatewayPeers } from '../peers.js';

/** Holds the settings that the console reads. */
type ConsoleConfig = Pick<
  GatewayConfig,
  'rpcTimeoutMs' | 'trustProxy' | 'publicUrl' | 'confirmAboveNanoUsd' | 'traceUrl' | 'promptLogging' | 'managementPerMinuteMax'
> &
  Values<typeof limitSettings>;

/** Reports the state of this gateway. */
interface GatewayState {
  /** Returns the parts that are missing and without which no calls can be served. */
  readiness(): Promise<string[]>;
  spoolState(): Promise<SpoolState>;
  isDraining(): boolean;
  readonly keys: Pick<KeyReplica, 'feed'>;
  readonly models: Pick<ModelReplica, 'feed'>;
  readonly checkpoints: { count(): number };
}

/** Holds the dependencies with which the console's API is created. */
export interface ConsoleDeps extends GatewayState {
  readonly peers: GatewayPeers;
  readonly config: ConsoleConfig;
  readonly limiter: Pick<Limiter, 'admitManagement'>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Holds the dependencies that every operation receives. */
export interface OperationDeps extends ConsoleDeps {
  /** Serves a call in the chat-completions format whose key is known. */
  readonly serveCall: (ctx: Parameters<Middleware>[0]) => Promise<void>;
}
