// The four paths between a caller's format and an upstream's, each streamed and whole.

/** A wire format. */
export type WireName = 'chat-completions' | 'messages';

/** One way to call. */
export interface Path {
  readonly client: WireName;
  readonly upstream: WireName;
  readonly streaming: boolean;
}

const formats: readonly WireName[] = ['chat-completions', 'messages'];

/** All eight. */
export const paths: readonly Path[] = formats.flatMap((client) =>
  formats.flatMap((upstream) => [true, false].map((streaming) => ({ client, upstream, streaming }))),
);

/** Those whose upstream speaks this format. */
export function over(upstream: WireName): readonly Path[] {
  return paths.filter((path) => path.upstream === upstream);
}

/** Those whose caller speaks this format. */
export function from(client: WireName): readonly Path[] {
  return paths.filter((path) => path.client === client);
}

/** Whether caller and upstream speak one format. */
export function isNative({ client, upstream }: Path): boolean {
  return client === upstream;
}

/** A path in words. */
export function nameOf({ client, upstream, streaming }: Path): string {
  return `${client}, ${streaming ? 'streamed' : 'whole'}, over ${upstream}`;
}
