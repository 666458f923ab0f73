// The context of the console's RPCs: how long they may take, and the user for whom they are made.
import { AsyncLocalStorage } from 'node:async_hooks';
import { type CallContext, callContext } from '#client/call-context.js';
import type { ConsoleDeps } from '../deps.js';

/** Checking a password takes a fifth of a second of a core that may be busy, and an identity provider is called over the network. */
const patientTimeoutMs = 10_000;
/** A service that does not answer must not hold up what can be shown without it. */
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

/** How long an RPC may take: the usual time, less where the answer can do without it, or more where a password is checked. */
export type Patience = 'usual' | 'brief' | 'patient' | { readonly ms: number };

/** The context of an RPC for the user of the present request. */
export function contextOf({ config }: Pick<ConsoleDeps, 'config'>, patience: Patience = 'usual'): CallContext {
  return callContext({ caller: 'gateway', timeoutMs: timeoutMs(patience, config.rpcTimeoutMs), actorToken: acting.getStore()?.token() });
}

function timeoutMs(patience: Patience, usualMs: number): number {
  if (patience === 'usual') return usualMs;
  if (patience === 'brief') return Math.min(briefTimeoutMs, usualMs);
  return patience === 'patient' ? patientTimeoutMs : patience.ms;
}
