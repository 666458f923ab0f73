// The chain of decorators that every service of every process stands behind.
import type { Logger } from '../log.js';
import { databaseFailures } from './database-failures.js';
import { deadline } from './deadline.js';
import { decorate, decorateSome } from './decorate.js';
import type { ServiceDefinition, ServiceOf } from './definition.js';
import { type PeerPolicy, peerPolicy } from './peer-policy.js';
import { telemetry } from './telemetry.js';

/** What the standard chain needs to know. */
export interface ChainOptions<D extends ServiceDefinition> {
  /** Who may call what. */
  policy: PeerPolicy<keyof D['methods'] & string>;
  log: Logger;
}

/** The service behind telemetry, peer policy, deadline and the meaning of its database's failures, ready for `serveGrpc` or `localClient`. */
export function decorateService<D extends ServiceDefinition>(definition: D, service: ServiceOf<D>, options: ChainOptions<D>): ServiceOf<D> {
  return decorate(definition, service, [telemetry(options.log), peerPolicy(options.policy), deadline, databaseFailures(options.log)]);
}

/**
 * Some methods of the service behind the same chain but for the deadline, for `answerBatches`: there a deadline is kept where
 * operations wait for their turn, without a timer for each.
 */
export function decorateOperations<D extends ServiceDefinition, K extends keyof D['methods'] & string>(
  definition: D,
  service: Pick<ServiceOf<D>, K>,
  keys: readonly K[],
  options: ChainOptions<D>,
): Pick<ServiceOf<D>, K> {
  return decorateSome(definition, service, keys, [telemetry(options.log), peerPolicy(options.policy), databaseFailures(options.log)]);
}
