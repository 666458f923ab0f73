import { describe, expect, it } from '@jest/globals';
import { DisconnectDrain } from './drain-after-disconnect.js';

/** An answer that is worth draining. */
function answer() {
  const notes = { disconnects: 0 };
  return { isExpected: true, outputTokensRead: 0, noteDisconnect: () => void (notes.disconnects += 1), notes };
}

const drainOf = (): DisconnectDrain => new DisconnectDrain({ readOnTimeMs: 60_000, readOnTokensMax: 10, readOnCallsMax: 1 });

describe('an answer whose client has disconnected', () => {
  it('is drained until the gateway stops, and no longer', () => {
    const drain = drainOf();
    const reading = drain.watch(AbortSignal.abort(), answer());
    expect(reading.signal.aborted).toBe(false);
    drain.close();
    expect(reading.signal.aborted).toBe(true);
    reading.end();
    expect(drain.watch(AbortSignal.abort(), answer()).signal.aborted).toBe(true);
  });

  it('is drained in place of one that has ended', () => {
    const drain = drainOf();
    const first = drain.watch(AbortSignal.abort(), answer());
    expect(drain.watch(AbortSignal.abort(), answer()).signal.aborted).toBe(true);
    first.end();
    const next = drain.watch(AbortSignal.abort(), answer());
    expect(next.signal.aborted).toBe(false);
    next.end();
  });

  it('takes no place if it had ended before', () => {
    const drain = drainOf();
    const disconnected = new AbortController();
    const ended = answer();
    drain.watch(disconnected.signal, ended).end();
    disconnected.abort();
    expect(ended.notes.disconnects).toBe(0);
    const next = drain.watch(AbortSignal.abort(), answer());
    expect(next.signal.aborted).toBe(false);
    next.end();
  });
});
