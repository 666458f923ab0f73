// Limits connections by the number of files that the process may open, because a process that has opened all of them can accept no connection.
import { readFileSync } from 'node:fs';
import type { Logger } from '#kit/log.js';

/** For databases, the spool, probes, connections to services, and upstream calls that are repeated before the previous one has ended. */
const otherFiles = 200;

/** The settings that depend on it. */
export interface ConnectionCounts {
  readonly connectionsMax: number;
  readonly callsMax: number;
}

/** Returns the configured maximum of connections, or, with a warning, a lower one if the process may not open enough files. */
export function connectionsWithin(
  { connectionsMax, callsMax }: ConnectionCounts,
  log: Pick<Logger, 'warn'> | undefined,
  filesMax = openFilesMax(),
): number {
  const left = filesMax - otherFiles;
  // Each call in flight needs a second one, for its upstream.
  const fitting = Math.max(1, left - callsMax, Math.floor(left / 2));
  if (fitting >= connectionsMax) return connectionsMax;
  log?.warn(
    `this process may open ${filesMax} files, so it accepts ${fitting} connections instead of ${connectionsMax} (TOLLGATE_GATEWAY_CONNECTIONS_MAX); raise the limit with LimitNOFILE= in systemd, or with ulimit -n`,
  );
  return fitting;
}

/** Returns how many files this process may open; Infinity where the system does not say. */
function openFilesMax(): number {
  try {
    const [, softLimit] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return Number(softLimit ?? Number.POSITIVE_INFINITY);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
