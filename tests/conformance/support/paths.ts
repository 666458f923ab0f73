// The paths between a caller's format and an upstream's, each streamed and whole.

import type { WireName } from '../../upstream/answers.js';

export type { WireName } from '../../upstream/answers.js';

/** A format of callers. */
export type ClientName = Exclude<WireName, 'responses'>;

/** A kind of call. */
export interface Path {
  readonly client: ClientName;
  readonly upstream: WireName;
  readonly streaming: boolean;
  /** The upstream is requested to send the answer whole. */
  readonly isAskedWhole?: boolean;
}

const clients: readonly ClientName[] = ['chat-completions', 'messages'];
const upstreams: readonly WireName[] = ['chat-completions', 'messages', 'responses'];

/** All paths. */
export const paths: readonly Path[] = clients.flatMap((client) =>
  upstreams.flatMap((upstream) => [true, false].map((streaming) => ({ client, upstream, streaming }))),
);

/** The paths on which the upstream sends the answer whole. */
export const wholePaths: readonly Path[] = paths.filter(({ streaming }) => !streaming).map((path) => ({ ...path, isAskedWhole: true }));

/** Returns the paths whose upstream uses this format. */
export function over(upstream: WireName): readonly Path[] {
  return paths.filter((path) => path.upstream === upstream);
}

/** Returns the paths whose caller uses this format. */
export function from(client: ClientName): readonly Path[] {
  return paths.filter((path) => path.client === client);
}

/** Reports whether caller and upstream use the same format. */
export function isNative({ client, upstream }: Path): boolean {
  return client === upstream;
}

/** Returns the name of a path. */
export function nameOf({ client, upstream, streaming, isAskedWhole = false }: Path): string {
  return `${client}, ${streaming ? 'streamed' : 'whole'}, over ${upstream}${isAskedWhole ? ' that sends it whole' : ''}`;
}
