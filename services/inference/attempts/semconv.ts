// Names of span attributes, in one place because the GenAI conventions still change
// (https://github.com/open-telemetry/semantic-conventions-genai, status Development).
import type { GenerateRequest } from '#proto/inference/v1/inference.js';

/** Attributes of a span around one attempt at one upstream. */
export const attribute = {
  operationName: 'gen_ai.operation.name',
  providerName: 'gen_ai.provider.name',
  requestModel: 'gen_ai.request.model',
  requestMaxTokens: 'gen_ai.request.max_tokens',
  requestStream: 'gen_ai.request.stream',
  responseModel: 'gen_ai.response.model',
  responseId: 'gen_ai.response.id',
  finishReasons: 'gen_ai.response.finish_reasons',
  /** Seconds. */
  timeToFirstChunk: 'gen_ai.response.time_to_first_chunk',
  /** Includes tokens read from and written to caches. */
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  cacheReadTokens: 'gen_ai.usage.cache_read.input_tokens',
  cacheWriteTokens: 'gen_ai.usage.cache_write.input_tokens',
  reasoningTokens: 'gen_ai.usage.reasoning.output_tokens',
  errorType: 'error.type',
  serverAddress: 'server.address',
  serverPort: 'server.port',
  httpStatus: 'http.response.status_code',
  /** The id of the call, which is the request id. */
  callId: 'tollgate.request.id',
  /** From 1. */
  attemptNumber: 'tollgate.attempt.number',
  credentialId: 'tollgate.credential.id',
  upstreamId: 'tollgate.upstream.id',
  usageReported: 'tollgate.usage.reported',
} as const;

/** Returns the value of `attribute.operationName`. */
export function operationOf({ embedding }: Pick<GenerateRequest, 'embedding'>): string {
  return embedding === undefined ? 'chat' : 'embeddings';
}
