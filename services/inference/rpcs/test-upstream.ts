// Tests an upstream for the operator and stores the result.
import { fault } from '#client/errors/fault.js';
import type { CallContext } from '#client/call-context.js';
import { type TestUpstreamRequest, type TestUpstreamResponse, ApiFormat } from '#proto/inference/v1/inference.js';
import type { RpcDeps } from '../deps.js';
import { testConnection } from '../upstreams/connection-test/connection-test.js';

/** Implements InferenceService.TestUpstream. */
export async function testUpstream(
  { upstreamId, upstreamModel, probes }: TestUpstreamRequest,
  context: CallContext,
  deps: RpcDeps,
): Promise<TestUpstreamResponse> {
  const known = await deps.registry.find(upstreamId);
  if (known.remote === undefined && known.shown.apiFormat !== ApiFormat.API_FORMAT_SANDBOX) {
    throw fault('secret_unreadable', {});
  }
  const test = await testConnection(known, { upstreamModel, probes }, context.signal, deps);
  const detail = { ok: test.ok, failed_step: test.failedStep, upstream_model: test.upstreamModel };
  await deps.store.keepTest(upstreamId, known.remote?.row, test, (tx) =>
    deps.audit.append(tx, context, { action: 'upstream.test', targetId: upstreamId, detail }),
  );
  deps.log.info({ upstream: upstreamId, ok: test.ok, failed_step: test.failedStep }, 'upstream tested');
  return { test };
}
