// Converts the bytes of one streamed answer to messages of canonical events, each with the usage so far.
import { AppError, hasReason } from '#client/errors/app-error.js';
import type { Event, GenerateRequest, GenerateResponse, Target } from '#proto/inference/v1/inference.js';
import type { Recipient } from '../../tokens/estimate.js';
import { Meter } from '../../tokens/meter.js';
import type { StreamDecoder } from '../answers/stream-decoder.js';
import type { Watchdog } from '../watchdog.js';
import type { PayloadReader } from './payload-reader.js';

/** Holds the source of one answer and what is needed to read it. */
export interface RelayOptions {
  readonly request: GenerateRequest;
  readonly target: Target;
  /** What the upstream received, for our own count. */
  readonly upstream: Recipient;
  readonly decoder: StreamDecoder;
  /** Splits the body into the payloads that the decoder reads. */
  readonly reader: PayloadReader;
  /** The body. It is read only as fast as the messages are consumed, so that a slow consumer slows the upstream down. */
  readonly chunks: AsyncIterator<Uint8Array>;
  /** Whether a part of the body arrived with the head: the answer may then have begun. */
  readonly hasBody: boolean;
  /** Already expecting the first event. */
  readonly watchdog: Watchdog;
  /** Called with the error if the connection is lost, or given up, after all content has arrived. */
  readonly onCut?: (error: unknown) => void;
  readonly limits: { readonly responseBytesMax: number; readonly idleTimeoutMs: number };
}

// How long to wait for the end marker, which adds nothing once all content and the usage have arrived.
const endTimeoutMs = 2000;

/**
 * Yields the messages of one answer: one for each network read that brought events. The first one carries `accepted` if no event arrived with
 * the head, the last one `finished`, even if the connection breaks or falls silent once all content has arrived. If the answer fails after it has
 * begun, the last one has no events but the usage to charge, which is counted more exactly than the running figure.
 */
export async function* relay(options: RelayOptions): AsyncGenerator<GenerateResponse, void, undefined> {
  const { decoder, reader, chunks, watchdog, limits } = options;
  const meter = new Meter(options.request, options.target.upstreamModel, options.upstream);
  let bytesRead = 0;
  let hasBegun = false;
  let isAcceptanceKnown = !options.hasBody;
  try {
    if (isAcceptanceKnown) yield accepted(options, meter);
    while (decoder.outcome === undefined) {
      let next: IteratorResult<Uint8Array>;
      let isCut = false;
      try {
        next = await chunks.next();
      } catch (error) {
        if (!decoder.hasAllContent || hasReason(watchdog.reason, 'cancelled')) throw error;
        options.onCut?.(error);
        next = { done: true, value: undefined };
        isCut = true;
      }
      bytesRead += next.done === true ? 0 : next.value.length;
      if (bytesRead > limits.responseBytesMax) throw new AppError('upstream_failed', 'The upstream sent an answer beyond the size limit.');
      const { events, failure } =
        next.done === true ? decode(decoder, isCut ? [] : reader.end(), true) : decode(decoder, reader.push(next.value), false);
      meter.add(events);
      if (!isCut) meter.report(decoder.report, decoder.isReportFinal);
      if (events.length > 0 || decoder.outcome !== undefined) {
        hasBegun = true;
        watchdog.pause();
        yield decoder.outcome === undefined ? { events, ...meter.soFar() } : await lastMessage(events, decoder, meter);
      } else if (!hasBegun && !isAcceptanceKnown) {
        isAcceptanceKnown = true;
        yield accepted(options, meter);
      }
      if (failure !== undefined) throw failure.error;
      // Bytes without events (pings, comments) are a sign of life, but not an answer.
      if (hasBegun && decoder.outcome === undefined)
        watchdog.expect(
          'continue its answer',
          decoder.hasAllContent && decoder.isReportFinal ? Math.min(limits.idleTimeoutMs, endTimeoutMs) : limits.idleTimeoutMs,
        );
    }
  } catch (error) {
    const isWanted = !hasReason(watchdog.reason, 'cancelled');
    if (hasBegun && isWanted) yield { events: [], usageSoFar: (await meter.finish()).usage, inputReported: true, outputReported: true };
    throw error;
  }
}

function accepted({ target }: RelayOptions, meter: Meter): GenerateResponse {
  return { events: [], ...meter.soFar(), accepted: { target } };
}

/** Decodes payloads up to the first that fails, so that what came before it is delivered however the bytes were split. */
function decode(decoder: StreamDecoder, payloads: readonly string[], isEnd: boolean): { events: Event[]; failure?: { error: unknown } } {
  const events: Event[] = [];
  try {
    for (const payload of payloads) events.push(...decoder.push(payload));
    if (isEnd) events.push(...decoder.end());
    return { events };
  } catch (error) {
    return { events, failure: { error } };
  }
}

async function lastMessage(events: readonly Event[], decoder: StreamDecoder, meter: Meter): Promise<GenerateResponse> {
  const final = await meter.finish();
  const { stopReason, stopSequence, extraJson } = decoder.outcome!;
  const finished: Event = { event: { $case: 'finished', value: { stopReason, stopSequence, ...final } }, extraJson };
  return { events: [...events, finished], usageSoFar: final.usage };
}
