// The paths between a caller's format and an upstream's, each streamed and whole.

import type { WireName } from '../../upstream/answers/answers.js';

export type { WireName } from '../../upstream/answers/answers.js';

/** A kind of call. */
export interface Path {
  readonly client: WireName;
  readonly upstream: WireName;
  readonly streaming: boolean;
  /** The upstream is requested to send the answer whole. */
  readonly isAskedWhole?: boolean;
}

const formats: readonly WireName[] = ['chat-completions', 'messages', 'responses'];

/** All paths. */
export const paths: readonly Path[] = formats.flatMap((client) =>
  formats.flatMap((upstream) => [true, false].map((streaming) => ({ client, upstream, streaming }))),
);

/** The paths on which the upstream sends the answer whole. */
export const wholePaths: readonly Path[] = paths.filter(({ streaming }) => !streaming).map((path) => ({ ...path, isAskedWhole: true }));

/** Returns the paths whose upstream uses this format. */
export function over(upstream: WireName): readonly Path[] {
  return paths.filter((path) => path.upstream === upstream);
}

/**
 * Returns the paths on which variant number `index` of an upstream is tested: one for each caller's format, streamed and whole by turns. With
 * TOLLGATE_TEST_PATHS=all, all of them.
 */
export function someOver(upstream: WireName, index: number): readonly Path[] {
  if (process.env['TOLLGATE_TEST_PATHS'] === 'all') return over(upstream);
  return over(upstream).filter(({ client, streaming }) => streaming === ((formats.indexOf(client) + index) % 2 === 0));
}

/** Returns the paths whose caller uses this format. */
export function from(client: WireName): readonly Path[] {
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
