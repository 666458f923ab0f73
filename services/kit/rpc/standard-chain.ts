// The chain of decorators that every service of every process stands behind.
import type { Logger } from '../log.js';
import type { Access } from './access/access.js';
import { databaseFailures } from './database-failures.js';
import { deadline } from './deadline.js';
import { decorate, decorateSome } from './decorate.js';
import type { ServiceDefinition, ServiceOf } from '#client/definition.js';
import { telemetry } from './telemetry.js';

/** What the standard chain needs to know. */
export interface ChainOptions {
  /** Who may call what. */
  access: Access;
  log: Logger;
}

/** The service behind telemetry, access, deadline and the meaning of its database's failures, ready for `serveGrpc` or `localClient`. */
export function decorateService<D extends ServiceDefinition>(
  definition: D,
  service: ServiceOf<D>,
  { access, log }: ChainOptions,
): ServiceOf<D> {
  return decorate(definition, service, [telemetry(log), access.decorator, deadline, databaseFailures(log)]);
}

/**
 * Some methods of the service behind the same chain but for the deadline, for `answerBatches`: there a deadline is kept where
 * operations wait for their turn, without a timer for each.
 */
export function decorateOperations<D extends ServiceDefinition, K extends keyof D['methods'] & string>(
  definition: D,
  service: Pick<ServiceOf<D>, K>,
  keys: readonly K[],
  { access, log }: ChainOptions,
): Pick<ServiceOf<D>, K> {
  return decorateSome(definition, service, keys, [telemetry(log), access.decorator, databaseFailures(log)]);
}
