// A service as a server offers it, over any transport.
import type { ServiceDefinition } from '#client/definition.js';

/** A service object and its definition. */
export interface ServedService {
  readonly definition: ServiceDefinition;
  /** Already decorated. */
  readonly service: object;
}
