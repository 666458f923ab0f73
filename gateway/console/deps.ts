// What the console's API works with.
import type { Middleware } from 'koa';
import type { Clock } from '#kit/clock.js';
import type { Logger } from '#kit/log.js';
import type { SpoolState } from '../call/spool/spool.js';
import type { GatewayConfig } from '../config.js';
import type { KeyReplica } from '../replicas/keys.js';
import type { ModelReplica } from '../replicas/models.js';
import type { ConsolePeers } from './peers.js';

/** The settings that the console reads. */
export type ConsoleConfig = Pick<GatewayConfig, 'rpcTimeoutMs' | 'trustProxy' | 'publicUrl' | 'confirmAboveNanoUsd' | 'traceUrl'>;

/** The state of this gateway. */
export interface GatewayState {
  /** The parts that are missing and without which calls cannot be served. */
  readiness(): Promise<string[]>;
  spoolState(): Promise<SpoolState>;
  isDraining(): boolean;
  readonly keys: Pick<KeyReplica, 'feed'>;
  readonly models: Pick<ModelReplica, 'feed'>;
  readonly checkpoints: { count(): number };
}

/** What the console's API is created with. */
export interface ConsoleDeps extends GatewayState {
  readonly peers: ConsolePeers;
  readonly config: ConsoleConfig;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Handed to every operation. */
export interface OperationDeps extends ConsoleDeps {
  /** Serves a call in the chat-completions format whose key is known. */
  readonly serveCall: (ctx: Parameters<Middleware>[0]) => Promise<void>;
}
