// Reads the responses of a streaming call as they arrive.
import type { ClientReadableStream } from '@grpc/grpc-js';

/** How many bytes of responses are read before the consumer requests them. Each queued response counts as its length plus `responseOverhead`. */
const readAheadBytes = 256 * 1024;
const responseOverhead = 100;

/**
 * Yields the responses, and raises the error of the call after those that arrived before it.
 *
 * The call's own iterator reads 16 responses ahead. When the server stops after its last response, it closes the connection, and Node's HTTP/2 over TLS
 * then drops what has arrived but was not read: the call would fail as unavailable for a consumer that was busy for a moment.
 */
export async function* readAhead(call: ClientReadableStream<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  const arrived: Buffer[] = [];
  let bytes = 0;
  let end: { readonly error?: Error } | undefined;
  let wake: (() => void) | undefined;
  call.on('data', (response: Buffer) => {
    arrived.push(response);
    bytes += response.length + responseOverhead;
    if (bytes >= readAheadBytes) call.pause();
    wake?.();
  });
  call.on('end', () => {
    end ??= {};
    wake?.();
  });
  call.on('error', (error) => {
    // The error event comes before the responses that wait in a paused call. Each response that is read here goes to the listener above.
    while (call.read() !== null);
    end ??= { error };
    wake?.();
  });
  for (;;) {
    const response = arrived.shift();
    if (response !== undefined) {
      bytes -= response.length + responseOverhead;
      if (call.isPaused() && bytes < readAheadBytes / 2) call.resume();
      yield response;
    } else if (end !== undefined) {
      if (end.error !== undefined) throw end.error;
      return;
    } else await new Promise<void>((resolve) => (wake = resolve));
  }
}
