// The private Galera cluster as a part of the launcher: a node that ends unasked is started again on its port and joins the others,
// one that would not serve again is ended for that, and so are all when none of them serves.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '#kit/log.js';
import type { SupervisedMariadb } from '../mariadb/supervised.js';
import { type GaleraCluster, type GaleraNode, type GaleraOptions, startGalera } from './cluster.js';

// A donor that has not served before its turn could be taken for one that was left.
const leftDonorMsDefault = 15_000;
// Longer than a founder needs, or a node until it has all data.
const nobodyServesMsDefault = 120_000;
const looksPerWait = 5;

/** Times of the supervision, and where it is told. */
export interface SupervisionOptions {
  readonly log: Pick<Logger, 'warn' | 'error'>;
  readonly restartDelayMs: number;
  /** How long a donor is left to itself before it is started again; tests shorten it. */
  readonly leftDonorMs?: number;
  /** How long nodes that run may all be without a majority before the cluster is bootstrapped again; tests shorten it. */
  readonly nobodyServesMs?: number;
}

/** A cluster that is kept running from `start` to `stop`. */
export function superviseGalera(options: GaleraOptions & SupervisionOptions): SupervisedMariadb {
  let cluster: GaleraCluster | undefined;
  let supervision: { stop(): Promise<void> } | undefined;
  return {
    name: 'galera',
    url: (schema) => cluster!.url(schema),
    async start() {
      cluster = await startGalera(options);
      supervision = keepRunning(cluster, options);
    },
    stop: async () => supervision?.stop(),
  };
}

/** Keeps the nodes of a started cluster running; `stop` stops them with it. */
export function keepRunning(cluster: GaleraCluster, options: SupervisionOptions): { stop(): Promise<void> } {
  const { log, restartDelayMs, leftDonorMs = leftDonorMsDefault, nobodyServesMs = nobodyServesMsDefault } = options;
  const stopping = new AbortController();
  const { signal } = stopping;

  async function startAgain(node: GaleraNode): Promise<void> {
    for (;;) {
      await node.ended;
      await sleep(restartDelayMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      log.error({ node: node.name, port: node.port }, 'Galera node ended unasked; starting it again');
      await cluster.restart(node).catch((error: unknown) => {
        if (!signal.aborted) log.error({ err: error, node: node.name }, 'Galera node could not be started again; it will be tried again');
      });
      // The stop came while it started, and may have found only the run before.
      if (signal.aborted) await cluster.stop();
    }
  }

  async function endWhatWouldNotServe(): Promise<void> {
    for (;;) {
      await sleep(leftDonorMs / looksPerWait, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      const left = await cluster.endLeftDonors(leftDonorMs);
      for (const { name } of left)
        log.warn({ node: name }, 'Galera node lost the cluster while it gave its data, and would not have served again; it was ended');
      if (await cluster.endIfNobodyServes(nobodyServesMs))
        log.error({}, 'no Galera node served for a long time; stopped all nodes to bootstrap the cluster again');
    }
  }

  const watching = Promise.all([endWhatWouldNotServe(), ...cluster.nodes.map(startAgain)]);
  return {
    async stop() {
      stopping.abort();
      await cluster.stop();
      await watching;
    },
  };
}
