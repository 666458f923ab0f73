// Tests an upstream for the operator, and keeps what was found.
import { AppError } from '#client/errors/app-error.js';
import type { CallContext } from '#client/call-context.js';
import { type TestUpstreamRequest, type TestUpstreamResponse, ApiFormat } from '#proto/inference/v1/inference.js';
import type { RpcDeps } from '../deps.js';
import { testConnection } from '../upstreams/connection-test/connection-test.js';

/** InferenceService.TestUpstream. */
export async function testUpstream(
  { upstreamId, upstreamModel }: TestUpstreamRequest,
  { signal }: CallContext,
  deps: RpcDeps,
): Promise<TestUpstreamResponse> {
  const known = await deps.registry.find(upstreamId);
  if (known.remote === undefined && known.shown.apiFormat !== ApiFormat.API_FORMAT_SANDBOX) {
    throw new AppError(
      'failed_precondition',
      'The secret of this upstream cannot be decrypted with the present key; put the secret again.',
    );
  }
  const test = await testConnection(known, upstreamModel, signal, deps);
  await deps.store.keepTest(upstreamId, known.remote?.row, test);
  deps.log.info({ upstream: upstreamId, ok: test.ok, failed_step: test.failedStep }, 'upstream tested');
  return { test };
}
