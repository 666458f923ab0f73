// AlertService: its RPCs, bound to their dependencies.
import { bindRpcs } from '#kit/rpc/bind-rpcs.js';
import type { AlertService } from '#proto/ledger/v1/alerts.js';
import type { AlertDeps } from './deps.js';
import { alertKeyRefused } from './rpcs/alert-key-refused.js';
import { getAlert } from './rpcs/get-alert.js';
import { putAlert } from './rpcs/put-alert.js';
import { testAlert } from './rpcs/test-alert.js';

/** Returns the implementation of the contract over these dependencies. */
export function alertService(deps: AlertDeps): AlertService {
  return bindRpcs<AlertService, AlertDeps>({ alertKeyRefused, getAlert, putAlert, testAlert }, deps);
}
