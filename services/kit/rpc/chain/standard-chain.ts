// The chain of decorators in front of every service of every process.
import type { Logger } from '../../log.js';
import type { Access } from '../access/access.js';
import { databaseFailures } from './database-failures.js';
import { deadline } from './deadline.js';
import { decorate, decorateSome } from './decorate.js';
import type { ServiceDefinition, ServiceOf } from '#client/definition.js';
import { telemetry } from './telemetry.js';

/** Options of the standard chain. */
export interface ChainOptions {
  /** Decides which caller may call what. */
  access: Access;
  log: Logger;
}

/**
 * Returns the service behind telemetry, access, deadline and the translation of database failures, ready for `serveGrpc` or `localClient`.
 */
export function decorateService<D extends ServiceDefinition>(
  definition: D,
  service: ServiceOf<D>,
  { access, log }: ChainOptions,
): ServiceOf<D> {
  return decorate(definition, service, [telemetry(log), access.decorator, deadline, databaseFailures(log)]);
}

/**
 * Returns some methods of the service behind the same chain except the deadline, for `answerBatches`: there deadlines are enforced where
 * operations are queued, without a timer for each.
 */
export function decorateOperations<D extends ServiceDefinition, K extends keyof D['methods'] & string>(
  definition: D,
  service: Pick<ServiceOf<D>, K>,
  keys: readonly K[],
  { access, log }: ChainOptions,
): Pick<ServiceOf<D>, K> {
  return decorateSome(definition, service, keys, [telemetry(log), access.decorator, databaseFailures(log)]);
}
