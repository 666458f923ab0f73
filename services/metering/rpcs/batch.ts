// Batch: records of ended calls, many per message, each treated as a separate call.
import { answerBatches } from '#kit/rpc/batch-server.js';
import type { CallContext } from '#client/call-context.js';
import type { UnaryHandler } from '#client/definition.js';
import { decorateOperations } from '#kit/rpc/chain/standard-chain.js';
import { type MeteringService, MeteringServiceDefinition, type BatchRequest, BatchResponse } from '#proto/metering/v1/metering.js';
import type { RpcDeps } from '../deps.js';

/** The operations of the stream. */
export type Operations = Pick<MeteringService, 'recordUsage'>;

/** Adds access checks, spans, logs and the handling of database failures to each operation. */
export function decoratedOperations(rpcs: Operations, { access, log }: Pick<RpcDeps, 'access' | 'log'>): Operations {
  return decorateOperations(MeteringServiceDefinition, rpcs, ['recordUsage'], { access, log });
}

/** Responds to every operation once, with its response or its error. Raises invalid_request for bytes that are not a message. */
export function batch(
  requests: AsyncIterable<BatchRequest>,
  context: CallContext,
  { operations, log }: Pick<RpcDeps, 'log'> & { readonly operations: Operations },
): AsyncIterable<BatchResponse> {
  const methods = { ...operations } as unknown as Record<string, UnaryHandler>;
  return answerBatches(requests, context, { responseType: BatchResponse, methods, log }) as AsyncIterable<BatchResponse>;
}
