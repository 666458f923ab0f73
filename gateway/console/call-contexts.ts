// With what patience the console's routes ask the services.
import { type CallContext, callContext } from '#kit/rpc/call-context.js';
import type { ConsoleDeps } from './deps.js';

/** Checking a password takes a fifth of a second of a core that may be busy, and an identity provider is asked over the network. */
const patientTimeoutMs = 10_000;

/** For most calls. */
export function contextOf({ config }: Pick<ConsoleDeps, 'config'>): CallContext {
  return callContext({ caller: 'gateway', timeoutMs: config.rpcTimeoutMs });
}

/** For calls that check or set a password, or follow a sign-in. */
export function patient(): CallContext {
  return callContext({ caller: 'gateway', timeoutMs: patientTimeoutMs });
}
