// The wire format follows the .proto files, not just our codec: our services are called by a client that reads the files
// itself (@grpc/proto-loader), so that a bug in our generator or its options cannot hide on both sides.
import { afterEach, describe, expect, it } from '@jest/globals';
import { type Client, credentials, loadPackageDefinition, Metadata, type ServiceClientConstructor } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { GenerateResponse, type GenerateRequest, InferenceServiceDefinition, StopReason } from '#proto/inference/v1/inference.js';
import {
  type BatchRequest,
  BatchResponse,
  HoldResponse,
  type HoldRequest,
  HoldState,
  LedgerServiceDefinition,
  ListKeySpendResponse,
} from '#proto/ledger/v1/ledger.js';
import { AppError } from '#client/errors/app-error.js';
import { toRpcStatus } from '#client/errors/rpc-status.js';
import { recordingLogger } from '../testing/log.js';
import type { ServiceDefinition } from '#client/definition.js';
import { type GrpcServer, serveGrpc } from './grpc/grpc-server.js';

type Foreign = Client & Record<string, (...args: unknown[]) => NodeJS.EventEmitter>;

let server: GrpcServer | undefined;
let client: Foreign | undefined;
afterEach(async () => {
  client?.close();
  await server?.stop(0);
});

/** Serves these methods of a service, and reads its .proto file for a client. */
async function foreignClient(definition: ServiceDefinition, file: string, methods: object): Promise<Foreign> {
  const unimplemented = Object.fromEntries(Object.keys(definition.methods).map((key) => [key, () => undefined]));
  const { log } = recordingLogger();
  server = await serveGrpc({ services: [{ definition, service: { ...unimplemented, ...methods } }], address: '127.0.0.1:0', log });
  // Integers as text, so that 64 bits are not rounded; without defaults, so that absent fields are visible as absent.
  const proto = loadSync(file, { includeDirs: ['proto'], longs: String, enums: String, defaults: false, oneofs: true });
  const Constructor = loadPackageDefinition({ Service: proto[definition.fullName]! })['Service'] as ServiceClientConstructor;
  client = new Constructor(server.address, credentials.createInsecure()) as unknown as Foreign;
  return client;
}

function unary(foreign: Foreign, method: string, request: object): Promise<Record<string, unknown>> {
  return new Promise((resolve, reject) => {
    foreign[method]!(request, callerNamed(), (error: Error | null, response: Record<string, unknown>) =>
      error === null ? resolve(response) : reject(error),
    );
  });
}

function streamed(foreign: Foreign, method: string, request: object): Promise<unknown[]> {
  return Array.fromAsync(foreign[method]!(request, callerNamed()) as unknown as AsyncIterable<unknown>);
}

function callerNamed(): Metadata {
  const metadata = new Metadata();
  metadata.set('tollgate-caller', 'gateway');
  return metadata;
}

describe('the wire', () => {
  const ledgerFile = 'tollgate/ledger/v1/ledger.proto';
  const inferenceFile = 'tollgate/inference/v1/inference.proto';

  it('carries 64-bit integers exactly, both ways', async () => {
    let received: HoldRequest | undefined;
    const foreign = await foreignClient(LedgerServiceDefinition, ledgerFile, {
      async hold(request: HoldRequest) {
        received = request;
        return HoldResponse.fromPartial({
          hold: { id: request.holdId, amountNanoUsd: -9_223_372_036_854_775_808n, state: HoldState.HOLD_STATE_OPEN },
        });
      },
    });
    const answer = await unary(foreign, 'hold', { holdId: 'req_1', amountNanoUsd: '9223372036854775807', ttlMs: 120_000 });
    expect(received).toMatchObject({ holdId: 'req_1', amountNanoUsd: 9_223_372_036_854_775_807n, minAmountNanoUsd: 0n, ttlMs: 120_000 });
    expect(answer['hold']).toMatchObject({ id: 'req_1', amountNanoUsd: '-9223372036854775808', state: 'HOLD_STATE_OPEN' });
  });

  it('distinguishes an absent optional field from zero, both ways', async () => {
    const limits: unknown[] = [];
    const foreign = await foreignClient(LedgerServiceDefinition, ledgerFile, {
      async hold(request: HoldRequest) {
        limits.push(request.keyLimit?.limitNanoUsd);
        return HoldResponse.fromPartial({});
      },
      listKeySpend: async () => ListKeySpendResponse.fromPartial({ keys: [{ keyId: 'none' }, { keyId: 'zero', limitNanoUsd: 0n }] }),
    });
    await unary(foreign, 'hold', { keyLimit: { version: 1 } });
    await unary(foreign, 'hold', { keyLimit: { version: 1, limitNanoUsd: 0 } });
    expect(limits).toEqual([undefined, 0n]);
    const { keys } = (await unary(foreign, 'listKeySpend', {})) as { keys: object[] };
    expect(keys[0]).not.toHaveProperty('limitNanoUsd');
    expect(keys[1]).toHaveProperty('limitNanoUsd', '0');
  });

  it('carries oneofs, repeated fields and enums in a stream', async () => {
    let received: GenerateRequest | undefined;
    const foreign = await foreignClient(InferenceServiceDefinition, inferenceFile, {
      async *generate(request: GenerateRequest) {
        received = request;
        yield GenerateResponse.fromPartial({
          events: [
            { event: { $case: 'blockStart', value: { index: 0, block: { $case: 'text', value: {} } } } },
            { event: { $case: 'blockDelta', value: { index: 0, delta: { $case: 'text', value: 'naïve ☃' } } } },
          ],
        });
        yield GenerateResponse.fromPartial({
          events: [{ event: { $case: 'finished', value: { stopReason: StopReason.STOP_REASON_MAX_TOKENS } } }],
        });
      },
    });
    const parts = [{ toolCall: { id: 'a', name: 'f', argumentsJson: '{}' } }, { text: { text: '' } }];
    const messages = await streamed(foreign, 'generate', {
      prompt: { messages: [{ role: 'ROLE_USER', parts }] },
      sampling: { temperature: 0 },
    });
    expect(received!.prompt!.messages[0]!.parts.map(({ part }) => part)).toEqual([
      { $case: 'toolCall', value: { id: 'a', name: 'f', argumentsJson: '{}' } },
      { $case: 'text', value: { text: '' } },
    ]);
    expect(received!.sampling).toMatchObject({ temperature: 0, topP: undefined });
    expect(messages).toMatchObject([
      {
        events: [
          { event: 'blockStart', blockStart: { block: 'text', text: {} } },
          { event: 'blockDelta', blockDelta: { delta: 'text', text: 'naïve ☃' } },
        ],
      },
      { events: [{ event: 'finished', finished: { stopReason: 'STOP_REASON_MAX_TOKENS' } }] },
    ]);
  });

  it('carries batches both ways on one stream', async () => {
    const received: BatchRequest[] = [];
    const foreign = await foreignClient(LedgerServiceDefinition, ledgerFile, {
      async *batch(requests: AsyncIterable<BatchRequest>) {
        for await (const request of requests) {
          received.push(request);
          const error = toRpcStatus(new AppError('hold_closed', 'Closed.', { details: { what: 'hold' }, retryAfterMs: 7 }));
          yield BatchResponse.fromPartial({
            results: [
              { tag: 2, result: { $case: 'hold', value: { replayed: true } } },
              { tag: 4_294_967_295, result: { $case: 'error', value: error } },
            ],
          });
        }
      },
    });
    const stream = foreign['batch']!(callerNamed()) as NodeJS.ReadWriteStream & { write(message: object): void };
    stream.write({
      operations: [
        { tag: 2, timeoutMs: 0, traceparent: '', hold: { holdId: 'a', amountNanoUsd: '9223372036854775807' } },
        { tag: 4_294_967_295, settle: { holdId: 'b' } },
      ],
    });
    stream.end();
    const answers = await Array.fromAsync<unknown>(stream);
    expect(received).toMatchObject([
      {
        operations: [
          { tag: 2, timeoutMs: 0, operation: { $case: 'hold', value: { holdId: 'a', amountNanoUsd: 9_223_372_036_854_775_807n } } },
          { tag: 4_294_967_295, timeoutMs: undefined, operation: { $case: 'settle', value: { holdId: 'b' } } },
        ],
      },
    ]);
    expect(answers).toMatchObject([
      {
        results: [
          { tag: 2, result: 'hold', hold: { replayed: true } },
          {
            tag: 4_294_967_295,
            result: 'error',
            error: {
              code: 9,
              message: 'Closed.',
              details: [{ type_url: 'type.googleapis.com/google.rpc.ErrorInfo' }, { type_url: 'type.googleapis.com/google.rpc.RetryInfo' }],
            },
          },
        ],
      },
    ]);
  });

  it('shows any client the status and the message of an error', async () => {
    const foreign = await foreignClient(LedgerServiceDefinition, ledgerFile, {
      async hold() {
        throw new AppError('balance_empty', 'The balance is empty: add money — 5 USD or more.');
      },
    });
    await expect(unary(foreign, 'hold', {})).rejects.toMatchObject({
      code: 9,
      details: 'The balance is empty: add money — 5 USD or more.',
    });
  });

  it('rejects bytes that are not a message', async () => {
    const foreign = await foreignClient(LedgerServiceDefinition, ledgerFile, { hold: async () => HoldResponse.fromPartial({}) });
    const result = new Promise((resolve, reject) => {
      const passThrough = (bytes: Buffer): Buffer => bytes;
      foreign.makeUnaryRequest(
        '/tollgate.ledger.v1.LedgerService/Hold',
        passThrough,
        passThrough,
        Buffer.from([0x0a, 0xff]),
        callerNamed(),
        (error, response) => (error === null ? resolve(response) : reject(error)),
      );
    });
    await expect(result).rejects.toMatchObject({ code: 3 });
  });
});
