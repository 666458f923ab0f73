// One node of a private Galera cluster: a mariadbd that replicates with the others.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { faultOf, type Login } from '#kit/db/mysql/probe.js';
import { adminUser, type Credentials, initSql } from '../mariadb/credentials.js';
import type { RunAs } from '../mariadb/programs.js';
import { lastLines } from '../processes/last-lines.js';
import { becameReady, endServer, launchServer, type Server } from '../mariadb/server-process.js';

/** A node's name, folder and ports. */
export interface NodePlace {
  /** "n1". */
  readonly name: string;
  /** Holds `data` and `mariadb.log`. */
  readonly folder: string;
  /** Port for clients. */
  readonly port: number;
  /** Port for group communication between nodes. */
  readonly groupPort: number;
  /** Port for incremental state transfers (IST), which send the transactions that a node missed. */
  readonly istPort: number;
  /** Port for full state transfers (SST), which send all data. */
  readonly sstPort: number;
}

/** Holds what all nodes of a cluster share. */
export interface ClusterPlan {
  readonly places: readonly NodePlace[];
  readonly runAs: RunAs;
  readonly credentials: Credentials;
  /** Folder of the scripts that transfer a node's data. */
  readonly transferFolder: string;
}

// Long enough for a joining node to receive all data first.
const joinTimeoutMs = 120_000;
const pollMs = 100;
/** How long a node may take to answer a health probe. */
export const probeMs = 1000;

const libraries = ['/usr/lib/galera/libgalera_smm.so', '/usr/lib64/galera-4/libgalera_smm.so'];

// A node that is silent for one second is removed from the cluster, instead of five, because no node commits until then. The library
// rejects these times unless all of them are set together.
const failureDetection = [
  'evs.keepalive_period=PT0.25S',
  'evs.inactive_check_period=PT0.25S',
  'evs.suspect_timeout=PT1S',
  'evs.inactive_timeout=PT3S',
  'evs.install_timeout=PT3S',
];

// How long a joining node waits until the others admit it, instead of 30 seconds. On a busy machine, nodes suspect each other while one joins, and a node
// that gives up ends the start of the whole cluster.
const admission = 'pc.wait_prim_timeout=PT90S';

// Small, because three run on one machine.
const sizes = [
  '--innodb-buffer-pool-size=64M',
  '--innodb-log-file-size=48M',
  '--aria-pagecache-buffer-size=8M',
  '--performance-schema=OFF',
  '--wsrep-slave-threads=2',
];
const cacheSize = 'gcache.size=64M';

/** Returns the options that make a server a node. A node that bootstraps the cluster is not given the addresses of the others. */
export function nodeOptions(place: NodePlace, places: readonly NodePlace[], bootstraps: boolean): string[] {
  const library = libraries.find((path) => existsSync(path));
  if (library === undefined) throw new Error('Galera is not installed. Install Debian\'s galera-4, as "make run-galera" does.');
  const others = places.map(({ groupPort }) => `127.0.0.1:${groupPort}`).join(',');
  const provider = [
    `gmcast.listen_addr=tcp://127.0.0.1:${place.groupPort}`,
    `ist.recv_addr=127.0.0.1:${place.istPort}`,
    cacheSize,
    ...failureDetection,
    admission,
  ];
  return [
    '--wsrep-on=ON',
    `--wsrep-provider=${library}`,
    '--wsrep-cluster-name=tollgate',
    `--wsrep-cluster-address=gcomm://${bootstraps ? '' : others}`,
    `--wsrep-node-name=${place.name}`,
    `--wsrep-node-address=127.0.0.1:${place.groupPort}`,
    `--wsrep-provider-options=${provider.join(';')}`,
    '--wsrep-sst-method=rsync',
    `--wsrep-sst-receive-address=127.0.0.1:${place.sstPort}`,
    // The last node is the preferred donor, because clients write to the first node of their address.
    `--wsrep-sst-donor=${[...places]
      .reverse()
      .map(({ name }) => name)
      .join(',')},`,
    '--binlog-format=ROW',
    '--innodb-autoinc-lock-mode=2',
    // Every node syncs each commit to disk. Otherwise acknowledged transactions are lost when all nodes are killed at once.
    '--innodb-flush-log-at-trx-commit=1',
    ...sizes,
  ];
}

/** Starts a node and waits until it has all data and accepts writes. Raises an Error with the last lines of its log if that fails. */
export async function startNode(
  plan: ClusterPlan,
  place: NodePlace,
  bootstraps: boolean,
  started: (server: Server) => void,
): Promise<void> {
  const { runAs, credentials, places, transferFolder } = plan;
  const { folder, port } = place;
  const server = launchServer({
    folder,
    port,
    runAs,
    initSql: initSql(credentials),
    extraOptions: nodeOptions(place, places, bootstraps),
    pathBefore: transferFolder,
  });
  started(server);
  let isOver = false;
  void server.ended.then(() => {
    isOver = true;
    // Also ends the programs that a state transfer started.
    killGroup(server.child.pid);
  });
  const login = adminLogin(credentials);
  const untilMs = performance.now() + joinTimeoutMs;
  let fault = 'the server did not start';
  if (await becameReady(server, joinTimeoutMs)) {
    while (!isOver && performance.now() < untilMs) {
      const found = await faultOf({ host: '127.0.0.1', port }, login, probeMs);
      if (found === undefined) return;
      fault = found;
      await sleep(pollMs);
    }
  }
  await stopServer(server);
  throw new Error(
    `Galera node ${place.name} did not start (${fault}). The last lines of its log:\n${lastLines(join(folder, 'mariadb.log'))}`,
  );
}

/** Returns the login for health probes of a node. */
export function adminLogin(credentials: Credentials): Login {
  return { user: adminUser, password: credentials[adminUser]! };
}

/** Shuts down a node cleanly, even if it is stopped by SIGSTOP. */
export async function stopServer(server: Server): Promise<void> {
  server.child.kill('SIGCONT');
  await endServer(server);
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // All processes of the group have ended.
  }
}
