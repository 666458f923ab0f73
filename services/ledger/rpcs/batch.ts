// Batch: holds, checkpoints, settlements and releases, many per message, each treated as a separate call.
import { answerBatches } from '#kit/rpc/batch-server.js';
import type { CallContext } from '#client/call-context.js';
import type { UnaryHandler } from '#client/definition.js';
import { decorateOperations } from '#kit/rpc/chain/standard-chain.js';
import {
  type BatchRequest,
  BatchResponse,
  type CheckpointRequest,
  type LedgerService,
  LedgerServiceDefinition,
} from '#proto/ledger/v1/ledger.js';
import type { RpcDeps } from '../deps.js';
import { invalidField } from '../requests/fields.js';

/** Maximum checkpoints that a gateway sends at once; more would delay the other operations of the stream. */
const checkpointItemsMax = 1000;

/** The operations of the stream. */
const names = ['hold', 'checkpoint', 'settle', 'release'] as const;

/** The RPCs behind the operations, with the same decorators as separate calls. */
export type Operations = Pick<LedgerService, (typeof names)[number]>;

/** Adds access checks, spans, logs and the handling of database failures to each operation. */
export function decoratedOperations(rpcs: Operations, { access, log }: Pick<RpcDeps, 'access' | 'log'>): Operations {
  const checkpoint: Operations['checkpoint'] = async (request, context) => {
    if (request.items.length > checkpointItemsMax) throw invalidField('items', `at most ${checkpointItemsMax} on this stream`);
    return rpcs.checkpoint(request, context);
  };
  return decorateOperations(LedgerServiceDefinition, { ...rpcs, checkpoint }, names, { access, log });
}

/** Responds to every operation once, with its response or its error. Raises invalid_request for bytes that are not a message. */
export function batch(
  requests: AsyncIterable<BatchRequest>,
  context: CallContext,
  { operations, log }: Pick<RpcDeps, 'log'> & { readonly operations: Operations },
): AsyncIterable<BatchResponse> {
  const methods = { ...operations } as unknown as Record<string, UnaryHandler>;
  // An operation with more checkpoints is refused for that, not for its weight.
  const weightOf = ({ $case, value }: { $case: string; value: unknown }): number =>
    $case === 'checkpoint' ? Math.min((value as CheckpointRequest).items.length, checkpointItemsMax) : 1;
  return answerBatches(requests, context, { responseType: BatchResponse, methods, weightOf, log }) as AsyncIterable<BatchResponse>;
}
