// Reads an upstream's own list of models.
import type { CallContext } from '#client/call-context.js';
import { AppError } from '#client/errors/app-error.js';
import { fault } from '#client/errors/fault.js';
import { ApiFormat, type ListUpstreamModelsRequest, type ListUpstreamModelsResponse } from '#proto/inference/v1/inference.js';
import type { RpcDeps } from '../deps.js';
import { listedModels } from '../upstreams/listed-models.js';

const timeoutMs = 15_000;

/** Implements InferenceService.ListUpstreamModels. */
export async function listUpstreamModels(
  { upstreamId }: ListUpstreamModelsRequest,
  { signal }: CallContext,
  { registry }: RpcDeps,
): Promise<ListUpstreamModelsResponse> {
  const { upstream, remote, shown } = await registry.find(upstreamId);
  if (remote === undefined && shown.apiFormat !== ApiFormat.API_FORMAT_SANDBOX) throw fault('secret_unreadable', {});
  if (!shown.enabled) throw new AppError('failed_precondition', `The upstream "${upstreamId}" is disabled. Enable it to list its models.`);
  if (upstream?.models === undefined) throw new AppError('failed_precondition', `The upstream "${upstreamId}" has no list of models.`);
  const models = listedModels(await upstream.models(AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])));
  if (models === undefined)
    throw new AppError('upstream_failed', 'The upstream did not answer with a list of models; see `tollgate upstream test`.');
  return { models };
}
