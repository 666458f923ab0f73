// AuthService, one line per RPC.
import { callContext } from '#kit/rpc/call-context.js';
import type { AuthService } from '#proto/auth/v1/auth.js';
import type { RpcDeps } from './deps.js';
import { authenticate } from './rpcs/authenticate.js';
import { createAccount } from './rpcs/create-account.js';
import { createKey } from './rpcs/create-key.js';
import { getAccount } from './rpcs/get-account.js';
import { getHealth } from './rpcs/get-health.js';
import { getKey } from './rpcs/get-key.js';
import { listAccounts } from './rpcs/list-accounts.js';
import { listKeys } from './rpcs/list-keys.js';
import { revokeKey } from './rpcs/revoke-key.js';
import { rotateKey } from './rpcs/rotate-key.js';
import { updateAccount } from './rpcs/update-account.js';
import { updateKey } from './rpcs/update-key.js';
import { watchKeys } from './rpcs/watch-keys.js';

/** The implementation of the contract over these dependencies. */
export function authService(deps: RpcDeps): AuthService {
  return {
    createAccount: (request, context = unknownCaller) => createAccount(request, context, deps),
    getAccount: (request, context = unknownCaller) => getAccount(request, context, deps),
    listAccounts: (request, context = unknownCaller) => listAccounts(request, context, deps),
    updateAccount: (request, context = unknownCaller) => updateAccount(request, context, deps),
    createKey: (request, context = unknownCaller) => createKey(request, context, deps),
    getKey: (request, context = unknownCaller) => getKey(request, context, deps),
    listKeys: (request, context = unknownCaller) => listKeys(request, context, deps),
    updateKey: (request, context = unknownCaller) => updateKey(request, context, deps),
    revokeKey: (request, context = unknownCaller) => revokeKey(request, context, deps),
    rotateKey: (request, context = unknownCaller) => rotateKey(request, context, deps),
    authenticate: (request, context = unknownCaller) => authenticate(request, context, deps),
    getHealth: () => getHealth(deps.db),
    watchKeys: (request, context = unknownCaller) => watchKeys(request, context, deps),
  };
}

/** The generated interface leaves the context optional; a transport always passes one. */
const unknownCaller = callContext({ caller: 'unknown' });
