// A hand-written service for tests of the transports: its definition has the shape that ts-proto generates, its codec is JSON.
import type { CallContext } from '#client/call-context.js';

/** The one message of the probe, both ways. */
export interface Probe {
  text: string;
  parts: string[];
}

/** As ts-proto would generate it. */
export interface ProbeService {
  echo(request: Probe, metadata?: CallContext): Promise<Probe>;
  count(request: Probe, metadata?: CallContext): AsyncIterable<Probe>;
  watchTicks(request: Probe, metadata?: CallContext): AsyncIterable<Probe>;
  converse(request: AsyncIterable<Probe>, metadata?: CallContext): AsyncIterable<Probe>;
}

const Probe = {
  encode: (message: Probe) => ({ finish: () => new TextEncoder().encode(JSON.stringify(message)) }),
  decode: (bytes: Uint8Array) => JSON.parse(new TextDecoder().decode(bytes)) as Probe,
  fromPartial: (message: Probe) => message,
};

const method = <const S extends boolean, const R extends boolean = false>(
  name: string,
  responseStream: S,
  requestStream: R = false as R,
) => ({
  name,
  requestType: Probe,
  requestStream,
  responseType: Probe,
  responseStream,
  options: { idempotencyLevel: 'IDEMPOTENT' as const },
});

/** As ts-proto would generate it. */
export const ProbeServiceDefinition = {
  name: 'ProbeService',
  fullName: 'tollgate.test.v1.ProbeService',
  methods: {
    echo: method('Echo', false),
    count: method('Count', true),
    watchTicks: method('WatchTicks', true),
    converse: method('Converse', true, true),
  },
} as const;

/** Returns a message with this text. */
export const probe = (text: string, parts: string[] = []): Probe => ({ text, parts });

/** Returns a probe service with the methods that a test needs; calling any other fails the test. */
export function probeService(methods: Partial<ProbeService>): ProbeService {
  const unexpected = (): never => {
    throw new Error('This test did not expect the call.');
  };
  return { echo: unexpected, count: unexpected, watchTicks: unexpected, converse: unexpected, ...methods };
}
