// Splits the bytes of a server-sent-event stream into payloads.
import { AppError } from '#client/errors/app-error.js';
import { createParser, type EventSourceParser } from 'eventsource-parser';

/** Reads one stream. The same bytes give the same payloads however they are split into chunks. */
export class SseReader {
  readonly #decoder = new TextDecoder();
  readonly #parser: EventSourceParser;
  #payloads: string[] = [];
  #tooLarge = false;

  /** `eventCharsMax` is the limit of one event; a character takes at least one byte, so a limit in bytes holds as well. */
  constructor(eventCharsMax: number) {
    this.#parser = createParser({
      maxBufferSize: eventCharsMax,
      onEvent: (event) => {
        if (event.data.length > eventCharsMax) this.#tooLarge = true;
        this.#payloads.push(event.data);
      },
      onError: (error) => {
        if (error.type === 'max-buffer-size-exceeded') this.#tooLarge = true;
      },
    });
  }

  /** Returns the payloads that these bytes complete. Raises upstream_failed for an event beyond the limit. */
  push(chunk: Uint8Array): string[] {
    return this.#feed(this.#decoder.decode(chunk, { stream: true }));
  }

  /** Returns what is left at the end of the stream, which some servers end without the last blank line. */
  end(): string[] {
    return this.#feed(`${this.#decoder.decode()}\n\n`);
  }

  #feed(text: string): string[] {
    this.#parser.feed(text);
    if (this.#tooLarge) throw new AppError('upstream_failed', 'The upstream sent an event beyond the size limit.');
    const payloads = this.#payloads;
    this.#payloads = [];
    return payloads;
  }
}
