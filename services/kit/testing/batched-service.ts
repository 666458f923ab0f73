// A service whose calls travel in batches, for tests of batching: the ledger's contract, with methods that a test defines.
import { BatchResponse, type LedgerService, LedgerServiceDefinition } from '#proto/ledger/v1/ledger.js';
import { Access } from '../rpc/access/access.js';
import type { BatchRequest } from '#client/batch/batch-contract.js';
import { answerBatches } from '../rpc/batch-server.js';
import type { ServiceOf, UnaryHandler } from '#client/definition.js';
import { decorateOperations, decorateService } from '../rpc/chain/standard-chain.js';
import { type LogLine, recordingLogger } from './log.js';

/** The service that stands for all services with a batch method. */
export type BatchedLedger = ServiceOf<typeof LedgerServiceDefinition>;
/** The methods that a test needs. */
export type BatchedMethods = Partial<Pick<LedgerService, 'hold' | 'settle' | 'release'>>;

/** The operations of its batch method. */
export const batchedNames = ['hold', 'settle', 'release'] as const;

/** Returns a ledger with these methods, behind the standard chain, that counts the operations of every message. */
export function batchedService(methods: BatchedMethods): { service: BatchedLedger; messages: number[]; lines: LogLine[]; access: Access } {
  const { log, lines } = recordingLogger();
  const access = new Access();
  const unexpected = async (): Promise<never> => {
    throw new Error('This test did not expect the call.');
  };
  const rpcs = { hold: unexpected, settle: unexpected, release: unexpected, ...methods };
  const operations = decorateOperations(LedgerServiceDefinition, rpcs, batchedNames, { access, log });
  const messages: number[] = [];
  const counted = async function* (requests: AsyncIterable<BatchRequest>): AsyncGenerator<BatchRequest> {
    for await (const request of requests) {
      messages.push(request.operations.length);
      yield request;
    }
  };
  const others = Object.fromEntries(Object.keys(LedgerServiceDefinition.methods).map((key) => [key, unexpected]));
  const batch: LedgerService['batch'] = (requests, callee) =>
    answerBatches(counted(requests), callee!, {
      responseType: BatchResponse,
      log,
      methods: { ...operations } as unknown as Record<string, UnaryHandler>,
    }) as ReturnType<LedgerService['batch']>;
  const service = { ...others, ...rpcs, batch } as unknown as BatchedLedger;
  return { service: decorateService(LedgerServiceDefinition, service, { access, log }), messages, lines, access };
}
