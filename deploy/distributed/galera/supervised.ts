// The private Galera cluster as a part of the launcher: a node that ends unasked is started again on its port and joins the others.
import { setTimeout as sleep } from 'node:timers/promises';
import type { SupervisedMariadb } from '../mariadb/supervised.js';
import { type GaleraCluster, type GaleraNode, type GaleraOptions, startGalera } from './cluster.js';

/** A cluster that is kept running from `start` to `stop`. */
export function superviseGalera(options: GaleraOptions & { readonly restartDelayMs: number }): SupervisedMariadb {
  const { log, restartDelayMs } = options;
  const stopping = new AbortController();
  let cluster: GaleraCluster | undefined;
  let watching: Promise<unknown> | undefined;

  async function keepRunning(node: GaleraNode, of: GaleraCluster): Promise<void> {
    for (;;) {
      await node.ended;
      await sleep(restartDelayMs, undefined, { signal: stopping.signal }).catch(() => undefined);
      if (stopping.signal.aborted) return;
      log.error({ node: node.name, port: node.port }, 'Galera node ended unasked; starting it again');
      await of.restart(node).catch((error: unknown) => {
        if (!stopping.signal.aborted) log.error({ err: error, node: node.name }, 'Galera node could not be started again; it will be tried again');
      });
      // The stop came while it started, and may have found only the run before.
      if (stopping.signal.aborted) await of.stop();
    }
  }

  return {
    name: 'galera',
    url: (schema) => cluster!.url(schema),
    async start() {
      const started = await startGalera(options);
      cluster = started;
      watching = Promise.all(started.nodes.map((node) => keepRunning(node, started)));
    },
    async stop() {
      stopping.abort();
      await cluster?.stop();
      await watching;
    },
  };
}
