// The private Galera cluster as a part of the launcher. Restarts a node that ends unexpectedly on its port, a node that is stuck, and
// all nodes if none of them serves.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '#kit/log.js';
import type { SupervisedMariadb } from '../mariadb/supervised.js';
import { type GaleraCluster, type GaleraNode, type GaleraOptions, startGalera } from './cluster.js';

// Long enough not to mistake a donor that is not serving yet for a stuck one.
const stuckDonorMsDefault = 15_000;
// A node that was removed because it was silent comes back within seconds.
const outsideMsDefault = 60_000;
// Longer than bootstrapping takes, or a node takes to receive all data.
const noneServesMsDefault = 120_000;
const checksPerWait = 5;

/** The supervisor's delays and its logger. */
export interface SupervisionOptions {
  readonly log: Pick<Logger, 'warn' | 'error'>;
  readonly restartDelayMs: number;
  /** How long a donor may be stuck before it is restarted; tests shorten it. */
  readonly stuckDonorMs?: number;
  /** How long a node may be outside of a cluster that serves before it is restarted; tests shorten it. */
  readonly outsideMs?: number;
  /** How long the running nodes may be without a majority before the cluster is bootstrapped again; tests shorten it. */
  readonly noneServesMs?: number;
}

/** Returns a cluster that is kept running from `start` to `stop`. */
export function superviseGalera(options: GaleraOptions & SupervisionOptions): SupervisedMariadb {
  let cluster: GaleraCluster | undefined;
  let supervision: { stop(): Promise<void> } | undefined;
  return {
    name: 'galera',
    url: (schema) => cluster!.url(schema),
    migrationUrl: (schema) => cluster!.migrationUrl(schema),
    backupUrl: () => cluster!.backupUrl,
    async start() {
      cluster = await startGalera(options);
      supervision = keepRunning(cluster, options);
    },
    stop: async () => supervision?.stop(),
  };
}

/** Keeps the nodes of a started cluster running until `stop`, which also stops the nodes. */
export function keepRunning(cluster: GaleraCluster, options: SupervisionOptions): { stop(): Promise<void> } {
  const {
    log,
    restartDelayMs,
    stuckDonorMs = stuckDonorMsDefault,
    outsideMs = outsideMsDefault,
    noneServesMs = noneServesMsDefault,
  } = options;
  const stopping = new AbortController();
  const { signal } = stopping;

  async function keepNodeRunning(node: GaleraNode): Promise<void> {
    for (;;) {
      await node.ended;
      await sleep(restartDelayMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      log.error({ node: node.name, port: node.port }, 'Galera node exited unexpectedly; restarting it');
      await cluster.restart(node).catch((error: unknown) => {
        if (!signal.aborted) log.error({ err: error, node: node.name }, 'Galera node could not be restarted; retrying');
      });
      // `stop` was called during the restart, and may have stopped only the previous run.
      if (signal.aborted) await cluster.stop();
    }
  }

  async function stopStuckNodes(): Promise<void> {
    for (;;) {
      await sleep(stuckDonorMs / checksPerWait, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      for (const { name } of await cluster.stopStuckNodes({ stuckDonor: stuckDonorMs, outside: outsideMs }))
        log.warn({ node: name }, 'Galera node did not come back after losing the cluster; stopped it to restart it');
      if (await cluster.killIfNoneServes(noneServesMs))
        log.error({}, 'no Galera node has served for a long time; stopped all nodes to bootstrap the cluster again');
    }
  }

  const watching = Promise.all([stopStuckNodes(), ...cluster.nodes.map(keepNodeRunning)]);
  return {
    async stop() {
      stopping.abort();
      await cluster.stop();
      await watching;
    },
  };
}
