// The generated interface, one line per RPC.
import type { CallContext } from '#kit/rpc/call-context.js';
import type * as messages from '#proto/inference/v1/inference.js';
import type { RpcDeps } from './deps.js';
import { getHealth } from './rpcs/get-health.js';
import { countTokens } from './rpcs/count-tokens.js';
import { deleteUpstream } from './rpcs/delete-upstream.js';
import { generate } from './rpcs/generate.js';
import { listUpstreams } from './rpcs/list-upstreams.js';
import { putUpstream } from './rpcs/put-upstream.js';
import { testUpstream } from './rpcs/test-upstream.js';

/** The RPCs of inference. */
export class InferenceRpcs implements messages.InferenceService {
  constructor(private readonly deps: RpcDeps) {}

  generate = (request: messages.GenerateRequest, context: CallContext) => generate(request, context, this.deps);
  countTokens = (request: messages.CountTokensRequest, context: CallContext) => countTokens(request, context, this.deps);
  listUpstreams = (request: messages.ListUpstreamsRequest, context: CallContext) => listUpstreams(request, context, this.deps);
  putUpstream = (request: messages.PutUpstreamRequest, context: CallContext) => putUpstream(request, context, this.deps);
  deleteUpstream = (request: messages.DeleteUpstreamRequest, context: CallContext) => deleteUpstream(request, context, this.deps);
  testUpstream = (request: messages.TestUpstreamRequest, context: CallContext) => testUpstream(request, context, this.deps);
  getHealth = () => getHealth(this.deps.db);
}
