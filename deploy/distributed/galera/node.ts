// One node of a private Galera cluster: a mariadbd that replicates with the others.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { faultOf, type Login } from '#kit/db/mysql/probe.js';
import { adminUser, type Credentials, initSql } from '../mariadb/credentials.js';
import type { RunAs } from '../mariadb/programs.js';
import { cameUp, endServer, lastLines, launchServer, type Server } from '../mariadb/server-process.js';

/** Where a node is. */
export interface NodePlace {
  /** "n1". */
  readonly name: string;
  /** Holds `data` and `mariadb.log`. */
  readonly folder: string;
  /** For clients. */
  readonly port: number;
  /** Between nodes: group communication, and the transfer of missing transactions and of the whole data. */
  readonly groupPort: number;
  readonly missingPort: number;
  readonly wholePort: number;
}

/** What all nodes of a cluster share. */
export interface ClusterPlan {
  readonly places: readonly NodePlace[];
  readonly runAs: RunAs;
  readonly credentials: Credentials;
  /** Holds the program that transfers the data of a node. */
  readonly transferFolder: string;
}

// A node that joins receives all data first.
const joinTimeoutMs = 120_000;
const pollMs = 100;
/** How long a node may take to say how it is. */
export const probeMs = 1000;

const libraries = ['/usr/lib/galera/libgalera_smm.so', '/usr/lib64/galera-4/libgalera_smm.so'];

// A node that is not heard of for a second is left out, instead of five: until then no node commits. All of these times go together,
// or the library refuses them.
const failureDetection = [
  'evs.keepalive_period=PT0.25S',
  'evs.inactive_check_period=PT0.25S',
  'evs.suspect_timeout=PT1S',
  'evs.inactive_timeout=PT3S',
  'evs.install_timeout=PT3S',
];

// Small, because three run on one machine.
const sizes = [
  '--innodb-buffer-pool-size=64M',
  '--innodb-log-file-size=48M',
  '--aria-pagecache-buffer-size=8M',
  '--performance-schema=OFF',
  '--wsrep-slave-threads=2',
];
const cacheSize = 'gcache.size=64M';

/** The options that make a server a node; a node that founds the cluster knows no others. */
export function nodeOptions(place: NodePlace, places: readonly NodePlace[], founds: boolean): string[] {
  const library = libraries.find((path) => existsSync(path));
  if (library === undefined) throw new Error('Galera is not installed; install Debian\'s galera-4, as "make run-galera" does.');
  const others = places.map(({ groupPort }) => `127.0.0.1:${groupPort}`).join(',');
  const provider = [
    `gmcast.listen_addr=tcp://127.0.0.1:${place.groupPort}`,
    `ist.recv_addr=127.0.0.1:${place.missingPort}`,
    cacheSize,
    ...failureDetection,
  ];
  return [
    '--wsrep-on=ON',
    `--wsrep-provider=${library}`,
    '--wsrep-cluster-name=tollgate',
    `--wsrep-cluster-address=gcomm://${founds ? '' : others}`,
    `--wsrep-node-name=${place.name}`,
    `--wsrep-node-address=127.0.0.1:${place.groupPort}`,
    `--wsrep-provider-options=${provider.join(';')}`,
    '--wsrep-sst-method=rsync',
    `--wsrep-sst-receive-address=127.0.0.1:${place.wholePort}`,
    // The last node gives its data first: the first one in the addresses is the one that is written to.
    `--wsrep-sst-donor=${[...places]
      .reverse()
      .map(({ name }) => name)
      .join(',')},`,
    '--binlog-format=ROW',
    '--innodb-autoinc-lock-mode=2',
    // Each commit is on the disk of every node. Without it acknowledged transactions are lost when all nodes die together.
    '--innodb-flush-log-at-trx-commit=1',
    ...sizes,
  ];
}

/** Starts a node and waits until it has all data and can be written to. Raises an Error with its last lines when that fails. */
export async function startNode(plan: ClusterPlan, place: NodePlace, founds: boolean, started: (server: Server) => void): Promise<void> {
  const { runAs, credentials, places, transferFolder } = plan;
  const { folder, port } = place;
  const server = launchServer({
    folder,
    port,
    runAs,
    initSql: initSql(credentials),
    extraOptions: nodeOptions(place, places, founds),
    pathBefore: transferFolder,
  });
  started(server);
  let isOver = false;
  void server.ended.then(() => {
    isOver = true;
    // What a transfer of data started goes with the node.
    killGroup(server.child.pid);
  });
  const login = adminLogin(credentials);
  const untilMs = performance.now() + joinTimeoutMs;
  let fault = 'it did not come up';
  if (await cameUp(server, joinTimeoutMs)) {
    while (!isOver && performance.now() < untilMs) {
      const found = await faultOf({ host: '127.0.0.1', port }, login, probeMs);
      if (found === undefined) return;
      fault = found;
      await sleep(pollMs);
    }
  }
  await stopServer(server);
  throw new Error(`Galera node ${place.name} did not start (${fault}). Its last lines:\n${lastLines(join(folder, 'mariadb.log'))}`);
}

/** Who may ask a node how it is. */
export function adminLogin(credentials: Credentials): Login {
  return { user: adminUser, password: credentials[adminUser]! };
}

/** Ends a node cleanly, also one that a signal has stopped. */
export async function stopServer(server: Server): Promise<void> {
  server.child.kill('SIGCONT');
  await endServer(server);
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // Nothing was left.
  }
}
