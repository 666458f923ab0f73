// Batch: records of ended calls, many a message, each as a call of its own.
import { answerBatches } from '#kit/rpc/batch-server.js';
import type { CallContext } from '#client/call-context.js';
import type { UnaryHandler } from '#client/definition.js';
import { decorateOperations } from '#kit/rpc/standard-chain.js';
import { type MeteringService, MeteringServiceDefinition, type BatchRequest, BatchResponse } from '#proto/metering/v1/metering.js';
import type { RpcDeps } from '../deps.js';

/** What can be asked on the stream. */
export type Operations = Pick<MeteringService, 'recordUsage'>;

/** Puts access, spans, logs and the database's failures around each operation. */
export function decoratedOperations(rpcs: Operations, { access, log }: Pick<RpcDeps, 'access' | 'log'>): Operations {
  return decorateOperations(MeteringServiceDefinition, rpcs, ['recordUsage'], { access, log });
}

/** Answers every operation once, with its response or its error. Raises invalid_request for bytes that are no message. */
export function batch(
  requests: AsyncIterable<BatchRequest>,
  context: CallContext,
  { operations, log }: Pick<RpcDeps, 'log'> & { readonly operations: Operations },
): AsyncIterable<BatchResponse> {
  const methods = { ...operations } as unknown as Record<string, UnaryHandler>;
  return answerBatches(requests, context, { responseType: BatchResponse, methods, log }) as AsyncIterable<BatchResponse>;
}
