// Who may call auth.
import type { PeerPolicy } from '#kit/rpc/peer-policy.js';
import type { AuthService } from '#proto/auth/v1/auth.js';

/** The callers of each RPC beside the operator, who may call all. The gateway reads, and changes keys and
 * accounts for those who are signed in to its console and may. */
export const authPolicy: PeerPolicy<keyof AuthService> = {
  createAccount: ['gateway'],
  getAccount: ['gateway'],
  listAccounts: ['gateway'],
  updateAccount: ['gateway'],
  createKey: ['gateway'],
  getKey: ['gateway'],
  listKeys: ['gateway'],
  updateKey: ['gateway'],
  revokeKey: ['gateway'],
  rotateKey: ['gateway'],
  authenticate: ['gateway'],
  watchKeys: ['gateway'],
  getHealth: ['gateway'],
};
