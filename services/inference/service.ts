// InferenceService: its RPCs, bound to their dependencies.
import { getHealth } from '#kit/process/get-health.js';
import { bindRpcs } from '#kit/rpc/bind-rpcs.js';
import type { InferenceService } from '#proto/inference/v1/inference.js';
import type { RpcDeps } from './deps.js';
import { countTokens } from './rpcs/count-tokens.js';
import { countUsage } from './rpcs/count-usage.js';
import { deleteCredential } from './rpcs/delete-credential.js';
import { deleteUpstream } from './rpcs/delete-upstream.js';
import { generate } from './rpcs/generate.js';
import { listTargetHealth } from './rpcs/list-target-health.js';
import { listUpstreamModels } from './rpcs/list-upstream-models.js';
import { listUpstreams } from './rpcs/list-upstreams.js';
import { overrideTarget } from './rpcs/override-target.js';
import { putCredential } from './rpcs/put-credential.js';
import { putUpstream } from './rpcs/put-upstream.js';
import { testUpstream } from './rpcs/test-upstream.js';

/** Returns the implementation of the contract over these dependencies. */
export function inferenceService(deps: RpcDeps): InferenceService {
  return bindRpcs<InferenceService, RpcDeps>(
    {
      generate,
      countTokens,
      countUsage,
      listUpstreams,
      listUpstreamModels,
      putUpstream,
      deleteUpstream,
      putCredential,
      deleteCredential,
      testUpstream,
      listTargetHealth,
      overrideTarget,
      getHealth,
    },
    deps,
  );
}
