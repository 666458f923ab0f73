// AuthService: its RPCs, bound to their dependencies.
import { bindRpcs } from '#kit/rpc/bind-rpcs.js';
import type { AuthService } from '#proto/auth/v1/auth.js';
import type { RpcDeps } from './deps.js';
import { authenticate } from './rpcs/authenticate.js';
import { batchGetPromptLogDays } from './rpcs/batch-get-prompt-log-days.js';
import { createAccount } from './rpcs/create-account.js';
import { createProject } from './rpcs/create-project.js';
import { createKey } from './rpcs/create-key.js';
import { deleteProject } from './rpcs/delete-project.js';
import { getAccount } from './rpcs/get-account.js';
import { getAccountState } from './rpcs/get-account-state.js';
import { getHealth } from './rpcs/get-health.js';
import { getKey } from './rpcs/get-key.js';
import { getProject } from './rpcs/get-project.js';
import { listAccounts } from './rpcs/list-accounts.js';
import { listKeys } from './rpcs/list-keys.js';
import { listProjects } from './rpcs/list-projects.js';
import { recordBackup } from './rpcs/record-backup.js';
import { revokeKey } from './rpcs/revoke-key.js';
import { rotateKey } from './rpcs/rotate-key.js';
import { updateAccountBudgets } from './rpcs/update-account-budgets.js';
import { updateAccountPrivacy } from './rpcs/update-account-privacy.js';
import { updateAccountSecurity } from './rpcs/update-account-security.js';
import { updateAccount } from './rpcs/update-account.js';
import { updateKey } from './rpcs/update-key.js';
import { updateProject } from './rpcs/update-project.js';
import { watchKeys } from './rpcs/watch-keys.js';

/** Returns the implementation of the contract over these dependencies. */
export function authService(deps: RpcDeps): AuthService {
  return bindRpcs<AuthService, RpcDeps>(
    {
      createAccount,
      getAccount,
      getAccountState,
      listAccounts,
      updateAccount,
      updateAccountBudgets,
      updateAccountPrivacy,
      updateAccountSecurity,
      createProject,
      getProject,
      listProjects,
      updateProject,
      deleteProject,
      batchGetPromptLogDays,
      createKey,
      getKey,
      listKeys,
      updateKey,
      revokeKey,
      rotateKey,
      authenticate,
      recordBackup,
      getHealth,
      watchKeys,
    },
    deps,
  );
}
