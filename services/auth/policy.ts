// Who may call auth.
import type { PeerPolicy } from '#kit/rpc/peer-policy.js';
import type { AuthService } from '#proto/auth/v1/auth.js';

/** The callers of each RPC beside the operator, who may call all. The gateway reads; only the operator creates and changes. */
export const authPolicy: PeerPolicy<keyof AuthService> = {
  createAccount: [],
  getAccount: ['gateway'],
  listAccounts: [],
  updateAccount: [],
  createKey: [],
  getKey: ['gateway'],
  listKeys: ['gateway'],
  updateKey: [],
  revokeKey: [],
  rotateKey: [],
  authenticate: ['gateway'],
  watchKeys: ['gateway'],
};
