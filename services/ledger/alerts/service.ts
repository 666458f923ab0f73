// AlertService, one line per RPC.
import { callContext } from '#kit/rpc/call-context.js';
import type { AlertService } from '#proto/ledger/v1/alerts.js';
import type { AlertDeps } from './deps.js';
import { getAlert } from './rpcs/get-alert.js';
import { listAlertDeliveries } from './rpcs/list-alert-deliveries.js';
import { putAlert } from './rpcs/put-alert.js';
import { testAlert } from './rpcs/test-alert.js';

/** The implementation of the contract over these dependencies. */
export function alertService(deps: AlertDeps): AlertService {
  return {
    getAlert: (request, context = unknownCaller) => getAlert(request, context, deps),
    putAlert: (request, context = unknownCaller) => putAlert(request, context, deps),
    testAlert: (request, context = unknownCaller) => testAlert(request, context, deps),
    listAlertDeliveries: (request, context = unknownCaller) => listAlertDeliveries(request, context, deps),
  };
}

/** The generated interface leaves the context optional; a transport always passes one. */
const unknownCaller = callContext({ caller: 'unknown' });
