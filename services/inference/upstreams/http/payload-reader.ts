// Chooses how the body of an answer is read: as events, or as the one JSON of a server that does not stream.
import { AppError } from '#client/errors/app-error.js';
import { SseReader } from './sse-reader.js';
import type { Headers } from './wire.js';

/** Splits the bytes of a body into payloads; the same bytes give the same payloads however they are split into chunks. */
export interface PayloadReader {
  /** Returns the payloads that these bytes complete. Raises upstream_failed for one beyond the limit. */
  push(chunk: Uint8Array): string[];
  /** Returns what is left at the end of the body. */
  end(): string[];
}

/** Returns the reader for a 2xx response with these headers. Raises upstream_failed for an HTML page that a proxy sent instead of an answer. */
export function payloadReader(headers: Headers, payloadBytesMax: number): PayloadReader {
  const type = headers['content-type'] ?? '';
  if (/^[^;]*[/+]json\b/i.test(type)) return new WholeReader(payloadBytesMax);
  // Some servers send their events without a content type, or with that of plain text.
  if (type === '' || /^(text\/(event-stream|plain)|application\/octet-stream)\b/i.test(type)) return new SseReader(payloadBytesMax);
  throw new AppError('upstream_failed', 'The upstream responded with neither JSON nor an event stream.', {
    cause: new Error(`content-type "${type.slice(0, 200)}"`),
  });
}

/** Reads a body that is one payload: some servers ignore the request to stream, and some send an error with status 200. */
class WholeReader implements PayloadReader {
  readonly #chunks: Uint8Array[] = [];
  #bytes = 0;

  constructor(private readonly bytesMax: number) {}

  push(chunk: Uint8Array): string[] {
    this.#bytes += chunk.length;
    if (this.#bytes > this.bytesMax) throw new AppError('upstream_failed', 'The upstream sent an answer beyond the size limit.');
    this.#chunks.push(chunk);
    return [];
  }

  end(): string[] {
    return [new TextDecoder().decode(Buffer.concat(this.#chunks))];
  }
}
