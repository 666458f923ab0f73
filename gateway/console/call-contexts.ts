// With what patience the console's routes ask the services.
import { type CallContext, callContext } from '#kit/rpc/call-context.js';
import type { ConsoleDeps } from './deps.js';

/** Checking a password takes a fifth of a second of a core that may be busy, and an identity provider is asked over the network. */
const patientTimeoutMs = 10_000;
const briefTimeoutMs = 2000;

/** For most calls. */
export function contextOf({ config }: Pick<ConsoleDeps, 'config'>): CallContext {
  return callContext({ caller: 'gateway', timeoutMs: config.rpcTimeoutMs });
}

/** For what an answer can do without: a part that is away must not hold up the rest for long. */
export function briefly({ config }: Pick<ConsoleDeps, 'config'>): CallContext {
  return callContext({ caller: 'gateway', timeoutMs: Math.min(briefTimeoutMs, config.rpcTimeoutMs) });
}

/** For calls that check or set a password, or follow a sign-in. */
export function patient(): CallContext {
  return callContext({ caller: 'gateway', timeoutMs: patientTimeoutMs });
}
