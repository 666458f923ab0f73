// With what patience the console's routes ask the services, and for which user.
import { AsyncLocalStorage } from 'node:async_hooks';
import { type CallContext, callContext } from '#client/call-context.js';
import type { ConsoleDeps } from './deps.js';

/** Checking a password takes a fifth of a second of a core that may be busy, and an identity provider is asked over the network. */
const patientTimeoutMs = 10_000;
const briefTimeoutMs = 2000;

/** The user for whom a request is served. */
export interface Acting {
  /** The actor token that calls carry now. */
  token(): string | undefined;
  /** Replaces the token if it is about to expire. Raises session_unknown when the session has ended. */
  renew(): Promise<void>;
}

// Follows a request through every function that serves it, so that no call of a service can miss it.
const acting = new AsyncLocalStorage<Acting>();

/** Runs the function so that each call made in it is for this user. */
export function actingAs<T>(user: Acting, run: () => T): T {
  return acting.run(user, run);
}

/** The same items, each produced for the user of the present request, however long after its route has returned. */
export function stillActing<T>(source: AsyncIterable<T>): AsyncIterable<T> {
  const user = acting.getStore();
  if (user === undefined) return source;
  const iterator = source[Symbol.asyncIterator]();
  const steps: AsyncIterator<T> = {
    next: () =>
      acting.run(user, async () => {
        await user.renew();
        return iterator.next();
      }),
    return: async () => (await iterator.return?.()) ?? { done: true, value: undefined },
  };
  return { [Symbol.asyncIterator]: () => steps };
}

/** For most calls. */
export function contextOf({ config }: Pick<ConsoleDeps, 'config'>): CallContext {
  return contextWithin(config.rpcTimeoutMs);
}

/** For what an answer can do without: a part that is away must not hold up the rest for long. */
export function briefly({ config }: Pick<ConsoleDeps, 'config'>): CallContext {
  return contextWithin(Math.min(briefTimeoutMs, config.rpcTimeoutMs));
}

/** For calls that check or set a password, or follow a sign-in. */
export function patient(): CallContext {
  return contextWithin(patientTimeoutMs);
}

/** For calls that take a time of their own. */
export function contextWithin(timeoutMs: number): CallContext {
  return callContext({ caller: 'gateway', timeoutMs, actorToken: acting.getStore()?.token() });
}
