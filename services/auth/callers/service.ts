// CallerService: its RPCs, bound to their dependencies.
import { bindRpcs } from '#kit/rpc/bind-rpcs.js';
import type { CallerService } from '#proto/auth/v1/callers.js';
import type { CallerDeps } from './deps.js';
import { createCaller } from './rpcs/create-caller.js';
import { getCaller } from './rpcs/get-caller.js';
import { listCallers } from './rpcs/list-callers.js';
import { reportCallersSeen } from './rpcs/report-callers-seen.js';
import { revokeCaller } from './rpcs/revoke-caller.js';
import { rotateCaller } from './rpcs/rotate-caller.js';
import { updateCaller } from './rpcs/update-caller.js';
import { watchCallers } from './rpcs/watch-callers.js';

/** Returns the implementation of the contract over these dependencies. */
export function callerService(deps: CallerDeps): CallerService {
  return bindRpcs<CallerService, CallerDeps>(
    { createCaller, getCaller, listCallers, updateCaller, revokeCaller, rotateCaller, watchCallers, reportCallersSeen },
    deps,
  );
}
