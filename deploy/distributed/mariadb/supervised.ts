// The private MariaDB as a part of the launcher: restarted on its port if it exits unexpectedly.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Part } from '#kit/lifecycle.js';
import { type Mariadb, type MariadbOptions, startMariadb } from './mariadb.js';

/** A database that is kept running from `start` to `stop`. */
export interface SupervisedMariadb extends Part {
  /** Returns the URL of a schema for `openDatabase`. Can be called once started, and stays the same across restarts. */
  url(schema: string): string;
  /** Returns the URL of the user for migrations, likewise. */
  migrationUrl(schema: string): string;
  /** Returns the URL of the user for backups, likewise. */
  backupUrl(): string;
}

/** Returns a supervised MariaDB. Calls `onStart` with the new pid at every start. */
export function superviseMariadb(options: MariadbOptions & { restartDelayMs: number }, onStart: (pid: number) => void): SupervisedMariadb {
  const { log, restartDelayMs } = options;
  const stopping = new AbortController();
  let server: Mariadb | undefined;
  let watching: Promise<void> | undefined;

  async function launch(port: number | undefined): Promise<Mariadb> {
    server = await startMariadb({ ...options, ...(port === undefined ? {} : { port }) });
    onStart(server.pid);
    return server;
  }

  async function keepRunning(first: Mariadb): Promise<void> {
    for (let current = first; ;) {
      await current.ended;
      await sleep(restartDelayMs, undefined, { signal: stopping.signal }).catch(() => undefined);
      if (stopping.signal.aborted) return;
      current = await launch(first.port).catch((error: unknown) => {
        log.error({ err: error }, 'MariaDB could not be restarted; retrying');
        return current;
      });
      // `stop` was called during the restart, and stopped only the previous run.
      if (stopping.signal.aborted) await current.stop();
    }
  }

  return {
    name: 'mariadb',
    url: (schema) => server!.url(schema),
    migrationUrl: (schema) => server!.migrationUrl(schema),
    backupUrl: () => server!.backupUrl,
    async start() {
      watching = keepRunning(await launch(options.port));
    },
    async stop() {
      stopping.abort();
      await server?.stop();
      await watching;
    },
  };
}
