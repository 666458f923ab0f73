// What the console's API works with.
import type { Clock } from '#kit/clock.js';
import type { Logger } from '#kit/log.js';
import type { ConsolePeers } from './peers.js';

/** Handed to every route. */
export interface ConsoleDeps {
  readonly peers: ConsolePeers;
  readonly config: { readonly rpcTimeoutMs: number; readonly trustProxy: boolean };
  readonly clock: Clock;
  readonly log: Logger;
}
