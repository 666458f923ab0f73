// Decorator: which processes may call which method of a service. Least privilege between services, in plain data.
import { AppError } from '../errors/app-error.js';
import type { Decorator } from './decorate.js';

/** The callers of each method of a service, for example { settle: ['metering'] }. The operator may call everything. */
export type PeerPolicy<Method extends string> = Readonly<Record<Method, readonly string[]>>;

/** The caller that every method admits: the command line and whoever composes the system. */
export const operator = 'operator';

/** Refuses callers that the policy does not name for the method, with peer_not_permitted. A method without an entry admits only the operator. */
export function peerPolicy(policy: Readonly<Record<string, readonly string[]>>): Decorator {
  return (method) => {
    const permitted = new Set([...(policy[method.key] ?? []), operator]);
    return (context) => {
      if (!permitted.has(context.caller)) {
        throw new AppError('peer_not_permitted', `${context.caller} may not call ${method.fullName}.`);
      }
      return { context };
    };
  };
}
