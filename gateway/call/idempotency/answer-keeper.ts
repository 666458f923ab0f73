// Collects the answer of a call with an idempotency key as it arrives, and replays it as the same steps. What is kept are the
// events: the formats' encoders are pure, so that the same events, ids and counts produce the same bytes.
import type { Event } from '#proto/inference/v1/inference.js';
import { TokenCounts } from '#proto/inference/v1/tokens.js';
import { type Call, StoredAnswer, type UsageRecord } from '#proto/metering/v1/metering.js';
import type { AppError } from '#client/errors/app-error.js';
import { fromRpcStatus, toRpcStatus } from '#client/errors/rpc-status.js';
import type { AnswerSink, CallStep } from '../metered-call.js';
import { seal, unseal } from '#kit/secrets/packed-box.js';

/** Limit on the unpacked size: no packed answer of the maximum length is larger; the error at the end is small. */
const slackBytes = 64 * 1024;
const eventsPerStep = 100;

/** Collects one answer. */
export class AnswerKeeper implements AnswerSink {
  /** Its client gets what was generated even if it disconnects: the answer is kept. */
  readonly isUndelivered = false;
  // The concatenated encodings of a message's parts are an encoding of the message.
  private parts: Buffer[] = [];
  private bytes = 0;
  private hasTokens = false;
  private isTooLarge = false;

  /** `bytesMax` limits the size of the kept answer. */
  constructor(
    private readonly keyHash: Buffer,
    private readonly secret: Buffer,
    private readonly bytesMax: number,
  ) {}

  begin(call: Call): void {
    call.idempotencyKeyHash = this.keyHash;
  }

  take({ events }: { readonly events: readonly Event[] }, tokens: TokenCounts): void {
    if (this.isTooLarge || (this.hasTokens && events.length === 0)) return;
    const part = Buffer.from(
      StoredAnswer.encode({ events: events as Event[], firstTokens: this.hasTokens ? undefined : tokens, error: undefined }).finish(),
    );
    this.hasTokens = true;
    this.bytes += part.length;
    this.parts.push(part);
    if (this.bytes <= this.bytesMax) return;
    this.isTooLarge = true;
    this.parts = [];
  }

  restart(): void {
    this.parts = [];
    this.bytes = 0;
    this.hasTokens = this.isTooLarge = false;
  }

  async answer(error: AppError | undefined, isFree: boolean): Promise<Buffer> {
    if (this.isTooLarge || isFree) return Buffer.alloc(0);
    const end =
      error === undefined ? [] : [StoredAnswer.encode({ events: [], firstTokens: undefined, error: toRpcStatus(error) }).finish()];
    return seal(Buffer.concat([...this.parts, ...end]), this.secret);
  }

  end(): void {}
}

/** Returns the steps of a kept call with this many parallel answers. Throws the error that ended it, if any. */
export async function* replayedCall(
  record: UsageRecord,
  choices: number,
  answer: Buffer,
  secret: Buffer,
  bytesMax: number,
): AsyncGenerator<CallStep, void, void> {
  const { events, firstTokens, error } = StoredAnswer.decode(await unseal(answer, secret, bytesMax + slackBytes));
  const { modelId, modelFallback, outputCapTokens, startedAtMs } = record.call!;
  yield {
    kind: 'admitted',
    modelId,
    fallback: modelFallback,
    outputCapTokens: Math.floor(outputCapTokens / Math.max(1, choices)),
    startedAtMs: Number(startedAtMs),
  };
  const tokens = firstTokens ?? TokenCounts.fromPartial({});
  for (let first = 0; first < events.length; first += eventsPerStep)
    yield { kind: 'events', events: events.slice(first, first + eventsPerStep), tokens };
  const failure = error === undefined ? undefined : fromRpcStatus(error);
  if (failure !== undefined) throw failure;
  yield { kind: 'recorded', recorded: { tokens: record.tokens!, record } };
}
