// The context of the console's RPCs: their deadline, and the user on whose behalf they are called.
import { AsyncLocalStorage } from 'node:async_hooks';
import { type CallContext, callContext } from '#client/call-context.js';
import type { ConsoleDeps } from '../deps.js';

/** Checking a password takes a fifth of a second on a core that may be busy, and an identity provider is called over the network. */
const patientTimeoutMs = 10_000;
/** A service that does not answer must not delay a response that does not depend on it. */
const briefTimeoutMs = 2000;

/** Provides the actor token of the user for whom a request is served. */
export interface Acting {
  /** Returns the current actor token. */
  token(): string | undefined;
  /** Replaces the token if it is about to expire. Raises session_unknown when the session has ended. */
  renew(): Promise<void>;
}

// Available to every function that serves a request, so that no RPC can lack the actor token.
const acting = new AsyncLocalStorage<Acting>();

/** Runs the function; every RPC that it calls acts for this user. */
export function actingAs<T>(user: Acting, run: () => T): T {
  return acting.run(user, run);
}

/** Returns the same items, each produced on behalf of the user of the current request, also after its route has returned. */
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

/** How long an RPC may take: the usual time, less when the response does not depend on it, or more when a password is checked. */
export type Patience = 'usual' | 'brief' | 'patient' | { readonly ms: number };

/** Returns the context of an RPC for the user of the current request. */
export function contextOf({ config }: Pick<ConsoleDeps, 'config'>, patience: Patience = 'usual'): CallContext {
  return callContext({ caller: 'gateway', timeoutMs: timeoutMs(patience, config.rpcTimeoutMs), actorToken: acting.getStore()?.token() });
}

/** Returns the context of an RPC that finds out who the user is. It carries no actor token: that of an earlier answer may have expired. */
export function unknownUserContextOf({ config }: Pick<ConsoleDeps, 'config'>): CallContext {
  return callContext({ caller: 'gateway', timeoutMs: config.rpcTimeoutMs });
}

function timeoutMs(patience: Patience, usualMs: number): number {
  if (patience === 'usual') return usualMs;
  if (patience === 'brief') return Math.min(briefTimeoutMs, usualMs);
  return patience === 'patient' ? patientTimeoutMs : patience.ms;
}
