// A call of a client library that retries. If its client disconnects before it received anything, the call, once admitted, continues for a moment and
// is offered to the retry: directly if this gateway receives it, through metering if another gateway does.
import type { Call } from '#proto/metering/v1/metering.js';
import type { Event } from '#proto/inference/v1/inference.js';
import type { TokenCounts } from '#proto/inference/v1/tokens.js';
import type { AppError } from '#client/errors/app-error.js';
import { AnswerKeeper } from '../idempotency/answer-keeper.js';
import type { AnswerSink, CallStep } from '../metered-call.js';
import type { Recorded } from '../recording/recorder.js';
import { pauseBeforeRetryMs } from './retry-key.js';

const nothing = Buffer.alloc(0);
/** How often a call checks whether a retry at another gateway still waits for it. */
const awaitedIntervalMs = 1000;

/** A client of a call, the one that began it or one whose request repeats it. */
export interface RetryingClient {
  readonly retryCount: number;
  readonly disconnected: AbortSignal;
  /** Reports whether a part of a streamed answer was sent before the client disconnected. */
  hasReceived(): boolean;
}

/** Where calls are offered. */
export interface Offers {
  /** Makes the call known to retries; returns false if there are too many. */
  add(call: OfferedCall): boolean;
  remove(call: OfferedCall): void;
  /** Offers the call to other gateways, with its answer if it has ended. Does not throw. */
  offer(call: OfferedCall, answer: Buffer): Promise<{ readonly offered: boolean; readonly awaited: boolean }>;
  /** Ends the offer to other gateways. */
  withdraw(call: OfferedCall): void;
  /** Ends the offer of a call whose answer was delivered. */
  release(call: OfferedCall): void;
  readonly later: Later;
}

/** Calls back after a time; returns a function that prevents it. */
export type Later = (ms: number, act: () => void) => () => void;

/** What identifies an offered call; computed for its first checkpoint, or when its client has disconnected. */
export interface OfferKey {
  /** The key under which retries find the call in this gateway. */
  readonly key: string;
  readonly keyHash: Buffer;
  readonly secret: Buffer;
}

/** One such call. */
export class OfferedCall implements AnswerSink {
  readonly #abandoned = new AbortController();
  #key: OfferKey | undefined;
  #call: Call | undefined;
  #admitted: CallStep | undefined;
  /** The answer so far, as long as a retry may need it. */
  #steps: CallStep[] = [];
  #isKept = true;
  #clients = 0;
  /** The retry count of the client that disconnected last. */
  #retryCount = 0;
  #isShared = false;
  #isDelivered = false;
  #offering: Promise<boolean> | undefined;
  #isOffered = false;
  #isWithdrawn = false;
  #stopWaiting: () => void = () => undefined;
  #isRecording = false;
  /** Resolves when metering has the answer of a call that ended without a client. */
  #storing: Promise<void> | undefined;
  #end: { readonly recorded: Recorded | undefined; readonly error: AppError | undefined } | undefined;
  #wake: (() => void) | undefined;
  #woken: Promise<void> | undefined;

  constructor(
    readonly id: string,
    readonly accountId: string,
    private readonly client: RetryingClient,
    private readonly streaming: boolean,
    private readonly keyOf: () => OfferKey,
    private readonly offers: Offers,
    private readonly limits: { readonly retryWaitMs: number; readonly keptAnswerBytesMax: number },
  ) {
    this.#attach(client);
  }

  /** Aborts when the call no longer has a client: the client disconnected, and no retry arrived. */
  get disconnected(): AbortSignal {
    return this.#abandoned.signal;
  }

  get key(): OfferKey {
    return (this.#key ??= this.keyOf());
  }

  get isUndelivered(): boolean {
    return this.#clients === 0 && !this.#isDelivered;
  }

  get retryKeyHash(): Buffer | undefined {
    return this.#isDelivered || this.#hasReceived || this.#abandoned.signal.aborted ? undefined : this.key.keyHash;
  }

  /** Whether a client waits for the answer. */
  get hasClient(): boolean {
    return this.#clients > 0;
  }

  /** Notes that a retry received the answer, so that no other one needs it. */
  async noteDelivered(): Promise<void> {
    if (!this.#isOffered) return;
    await this.#storing;
    this.offers.release(this);
  }

  begin(call: Call, admitted: CallStep): void {
    this.#call = call;
    this.#admitted = admitted;
  }

  take({ events }: { readonly events: readonly Event[] }, tokens: TokenCounts): void {
    if (!this.#isKept) return;
    if (this.#hasReceived) {
      this.#isKept = false;
      this.#steps = [];
      return;
    }
    this.#add({ kind: 'events', events, tokens });
  }

  restart(): void {
    this.#add({ kind: 'restarted' });
  }

  async answer(error: AppError | undefined, isFree: boolean): Promise<Buffer> {
    this.#isRecording = true;
    this.#stopWaiting();
    // The record must name the reservation, or must not.
    if (this.#offering !== undefined) await this.#offering;
    return this.#isOffered ? this.#keptAnswer(error, isFree) : nothing;
  }

  end(recorded: Recorded | undefined, error: AppError | undefined): void {
    this.#end = { recorded, error };
    this.#stopWaiting();
    this.offers.remove(this);
    if (this.#isWithdrawn) this.offers.withdraw(this);
    if (this.#clients === 0) this.#offerEnded();
    this.#wake?.();
  }

  /** Returns the steps of the call from its beginning, for a retry. */
  join(client: RetryingClient): AsyncGenerator<CallStep, void, void> {
    this.#stopWaiting();
    this.#isShared = true;
    this.#attach(client);
    return this.#follow();
  }

  /** Ends the call unless a client waits for it. */
  abandon(): void {
    if (this.#clients === 0 && !this.#isRecording) this.#giveUp();
  }

  async *#follow(): AsyncGenerator<CallStep, void, void> {
    const admitted = this.#admitted;
    if (admitted === undefined) throw new Error('A call was joined before it was admitted.');
    yield admitted;
    for (let next = 0; ;) {
      while (next < this.#steps.length) yield this.#steps[next++]!;
      if (this.#end !== undefined) break;
      this.#woken ??= new Promise<void>((resolve) => {
        this.#wake = () => {
          this.#wake = this.#woken = undefined;
          resolve();
        };
      });
      await this.#woken;
    }
    const { recorded, error } = this.#end;
    if (error !== undefined) throw error;
    yield { kind: 'recorded', recorded: recorded! };
  }

  /** Whether a part of the stream was sent to the only client. */
  get #hasReceived(): boolean {
    return !this.#isShared && this.streaming && this.client.hasReceived();
  }

  #add(step: CallStep): void {
    this.#steps.push(step);
    this.#wake?.();
  }

  #attach(client: RetryingClient): void {
    this.#clients += 1;
    const leave = (): void => this.#leave(client);
    if (client.disconnected.aborted) leave();
    else client.disconnected.addEventListener('abort', leave, { once: true });
  }

  #leave(client: RetryingClient): void {
    this.#clients -= 1;
    if (this.streaming && client.hasReceived()) this.#isDelivered = true;
    if (this.#clients > 0) return;
    if (this.#end !== undefined) return this.#offerEnded();
    this.#retryCount = client.retryCount;
    // A retry cannot join it before its admission and runs as a new call, so this one must not be charged as well.
    if (this.#call === undefined) this.#giveUp();
    else if (!this.#isRecording) this.#waitForRetry();
    // It cannot be offered any more, and not yet with its answer, but a retry at this gateway may join it.
    else if (!this.#isDelivered) this.offers.add(this);
  }

  #waitForRetry(): void {
    if (this.#isDelivered || !this.offers.add(this)) return this.#giveUp();
    this.#isShared = true;
    this.#offering ??= this.#offer();
    this.#waitFor(pauseBeforeRetryMs(this.#retryCount) + this.limits.retryWaitMs);
  }

  #waitFor(ms: number): void {
    this.#stopWaiting = this.offers.later(ms, () => void this.#check());
  }

  async #offer(): Promise<boolean> {
    const { offered } = await this.offers.offer(this, nothing);
    if (!offered) return false;
    // The call was abandoned meanwhile.
    if (this.#abandoned.signal.aborted) this.#isWithdrawn = true;
    else {
      this.#isOffered = true;
      this.#call!.idempotencyKeyHash = this.key.keyHash;
    }
    return true;
  }

  /** Ends the call if no retry has arrived. */
  async #check(): Promise<void> {
    const wait = this.#stopWaiting;
    const isAwaited = (await this.#offering) === true && (await this.offers.offer(this, nothing)).awaited;
    // A retry that arrived and disconnected meanwhile began its own wait for the next retry.
    if (this.#stopWaiting !== wait) return;
    if (isAwaited && this.#clients === 0 && !this.#isRecording) this.#waitFor(awaitedIntervalMs);
    else this.abandon();
  }

  #giveUp(): void {
    this.#stopWaiting();
    this.offers.remove(this);
    if (this.#isOffered) {
      // Withdrawn when the call has ended: a checkpoint that is under way may still name the reservation.
      this.#isOffered = false;
      this.#isWithdrawn = true;
      this.#call!.idempotencyKeyHash = nothing;
    }
    this.#abandoned.abort();
  }

  /** Offers the answer of a call whose client disconnected while the call was recorded. */
  #offerEnded(): void {
    const { recorded, error } = this.#end!;
    if (this.#isOffered || this.#isWithdrawn || this.#isDelivered || this.#abandoned.signal.aborted) return;
    if (recorded === undefined || error !== undefined) return;
    this.#isOffered = true;
    // A retry that arrives before metering has the answer joins the call here.
    this.offers.add(this);
    this.#storing = this.#store();
  }

  /** Does not throw. */
  async #store(): Promise<void> {
    // An answer that cannot be encrypted is not kept.
    const answer = await this.#keptAnswer(undefined, false).catch(() => nothing);
    if (answer.length > 0) await this.offers.offer(this, answer);
    this.offers.remove(this);
  }

  #keptAnswer(error: AppError | undefined, isFree: boolean): Promise<Buffer> {
    const { keyHash, secret } = this.key;
    const keeper = new AnswerKeeper(keyHash, secret, this.limits.keptAnswerBytesMax);
    for (const step of this.#steps) {
      if (step.kind === 'restarted') keeper.restart();
      if (step.kind === 'events') keeper.take(step, step.tokens);
    }
    return keeper.answer(error, isFree);
  }
}
