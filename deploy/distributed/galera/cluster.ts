// A private Galera cluster of three nodes on loopback, run from Debian's programs. It has its own data, ignores the system's
// configuration, never runs as root, and ends with the process that started it.
import { chmodSync, chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { faultOf, type NodeTrouble, troubleOf } from '#kit/db/mysql/probe.js';
import type { Logger } from '#kit/log.js';
import { adminUser, backupUser, loadCredentials, migrationUser } from '../mariadb/credentials.js';
import { findProgram, prepareFolder, type RunAs } from '../mariadb/programs.js';
import { installOnce, type Server } from '../mariadb/server-process.js';
import { claimPorts } from '../ports.js';
import { adminLogin, type ClusterPlan, type NodePlace, probeMs, startNode, stopServer } from './node.js';
import { findBootstrapNode } from './recovery.js';

/** Number of nodes. With three, the remaining two are a majority when one is lost. */
export const nodeCount = 3;

/** Their names, which are those of their folders. */
export const nodeNames: readonly string[] = Array.from({ length: nodeCount }, (_, index) => `n${index + 1}`);

/** Options of `startGalera`. */
export interface GaleraOptions {
  /** A folder used only by this cluster; created if missing. */
  readonly dataDir: string;
  /** Client ports on 127.0.0.1, in the order of the nodes; free ports are chosen if absent. */
  readonly ports?: readonly number[];
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** Called each time a node starts, with its new pid. */
  readonly onStart?: (name: string, pid: number) => void;
}

/** A node of a started cluster. */
export interface GaleraNode {
  readonly name: string;
  readonly port: number;
  /** Process id of the current or the last run. */
  readonly pid: number;
  readonly isRunning: boolean;
  /** Returns the URL of a schema on this node only, for `openDatabase`. */
  url(schema: string): string;
  /** Sends a signal to the node's process; used by failure tests. */
  kill(signal: NodeJS.Signals): void;
  /** Settles when the current run has ended. */
  readonly ended: Promise<void>;
}

/** How long a node may be in trouble before it counts as stuck, in milliseconds. */
export type StuckLimits = Readonly<Record<NodeTrouble, number>>;

/** A started cluster. */
export interface GaleraCluster {
  readonly nodes: readonly GaleraNode[];
  /** Returns the URL of a schema of the cluster, which lists all nodes in order, for `openDatabase`. */
  url(schema: string): string;
  /** Returns the URL of a schema of the cluster with the user for its migrations. */
  migrationUrl(schema: string): string;
  /** URL, without a schema, of a user with all privileges, including creating schemas. */
  readonly adminUrl: string;
  /** URL, without a schema, of the user for backups. */
  readonly backupUrl: string;
  /** Restarts a node that has ended, which then rejoins the others. If no node is running, bootstraps the cluster from the nodes' data. */
  restart(node: GaleraNode): Promise<void>;
  /**
   * Stops the nodes that are stuck, provided that another node serves, and returns them so that the caller can `restart` them. A node is stuck once
   * every call during one of these times has found it in the same trouble.
   */
  stopStuckNodes(limits: StuckLimits): Promise<readonly GaleraNode[]>;
  /**
   * Kills all nodes and returns true if every call during `noneServesMs` has found that no node serves. `restart` then bootstraps the
   * cluster from the data on the disks. This is safe because all nodes are on this machine, so that none can be serving elsewhere.
   */
  killIfNoneServes(noneServesMs: number): Promise<boolean>;
  /** Shuts down all nodes cleanly and waits until they have ended. */
  stop(): Promise<void>;
}

/** Starts the cluster. Bootstraps it with the first node if the folder is new, otherwise with the node that has the most recent data. */
export async function startGalera(options: GaleraOptions): Promise<GaleraCluster> {
  const plan = await prepare(options);
  const nodes = plan.places.map((place) => new Node(plan, place, options));
  const cluster = new Cluster(plan, nodes);
  try {
    await cluster.startAll();
  } catch (error) {
    await cluster.stop();
    throw error;
  }
  return cluster;
}

async function prepare({ dataDir, ports }: GaleraOptions): Promise<ClusterPlan> {
  const folder = resolve(dataDir);
  const runAs = prepareFolder(folder, ['mysql', 'nobody']);
  // The state transfer does not work as root: rsync drops its privileges and can then not write.
  if (process.getuid?.() === 0 && runAs.uid === undefined) {
    throw new Error(
      `Galera does not run as root, and no other user can access ${folder}. Choose another folder, such as one below /var/lib, or start as another user.`,
    );
  }
  findProgram('rsync');
  const credentials = loadCredentials(join(folder, 'credentials.json'));
  const wanted = ports ?? Array.from({ length: nodeCount }, () => 0);
  const claimed = await claimPorts([...wanted, ...Array.from({ length: 3 * nodeCount }, () => 0)]);
  const places = wanted.map((_, index): NodePlace => {
    const name = nodeNames[index]!;
    const [groupPort, istPort, sstPort] = claimed.slice(nodeCount + 3 * index) as [number, number, number];
    return { name, folder: join(folder, name), port: claimed[index]!, groupPort, istPort, sstPort };
  });
  for (const place of places) own(place.folder, runAs);
  return {
    places,
    runAs,
    credentials,
    transferFolder: copyTransferScripts(join(folder, 'transfer'), runAs),
  };
}

// The nodes' user may not be able to read the folder that the scripts are installed in.
function copyTransferScripts(folder: string, runAs: RunAs): string {
  own(folder, runAs);
  const from = dirname(findProgram('wsrep_sst_rsync'));
  for (const script of ['wsrep_sst_rsync', 'wsrep_sst_common']) {
    // It does not quote its own folder, whose path may have spaces.
    const text = readFileSync(join(from, script), 'utf8').replace('. $(dirname "$0")/', '. "$(dirname "$0")"/');
    writeFileSync(join(folder, script), text);
    chmodSync(join(folder, script), 0o755);
  }
  return folder;
}

function own(folder: string, { uid, gid }: RunAs): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (uid !== undefined && gid !== undefined) chownSync(folder, uid, gid);
}

class Node implements GaleraNode {
  private server: Server | undefined;
  private trouble: { readonly kind: NodeTrouble; readonly sinceMs: number } | undefined;
  isRunning = false;

  constructor(
    private readonly plan: ClusterPlan,
    readonly place: NodePlace,
    private readonly options: GaleraOptions,
  ) {}

  get name(): string {
    return this.place.name;
  }

  get port(): number {
    return this.place.port;
  }

  get pid(): number {
    return this.server?.child.pid ?? 0;
  }

  get ended(): Promise<void> {
    return this.server?.ended ?? Promise.resolve();
  }

  url(schema: string): string {
    return urlOf(this.plan, [this.place], schema);
  }

  kill(signal: NodeJS.Signals): void {
    this.server?.child.kill(signal);
  }

  async start(bootstraps: boolean): Promise<void> {
    const { folder } = this.place;
    if (bootstraps) installOnce(folder, this.plan.runAs);
    else own(join(folder, 'data'), this.plan.runAs);
    await startNode(this.plan, this.place, bootstraps, (server) => {
      this.server = server;
      this.isRunning = true;
      this.options.onStart?.(this.name, this.pid);
      void server.ended.then(() => {
        if (this.server === server) this.isRunning = false;
      });
    });
    this.options.log.info({ node: this.name, port: this.port, server_pid: this.pid, bootstraps }, 'Galera node started');
  }

  /** Reports whether the node is stuck. See `GaleraCluster.stopStuckNodes`. */
  async isStuck(limits: StuckLimits): Promise<boolean> {
    const host = { host: '127.0.0.1', port: this.port };
    const kind = this.isRunning ? await troubleOf(host, adminLogin(this.plan.credentials), probeMs) : undefined;
    const nowMs = performance.now();
    if (kind === undefined) this.trouble = undefined;
    else if (this.trouble?.kind !== kind) this.trouble = { kind, sinceMs: nowMs };
    return this.trouble !== undefined && nowMs - this.trouble.sinceMs > limits[this.trouble.kind];
  }

  async serves(): Promise<boolean> {
    return (
      this.isRunning && (await faultOf({ host: '127.0.0.1', port: this.port }, adminLogin(this.plan.credentials), probeMs)) === undefined
    );
  }

  async stop(): Promise<void> {
    if (this.server !== undefined) await stopServer(this.server);
  }
}

class Cluster implements GaleraCluster {
  private bootstrapping: Promise<void> | undefined;
  private noneServesSinceMs: number | undefined;

  constructor(
    private readonly plan: ClusterPlan,
    readonly nodes: readonly Node[],
  ) {}

  get adminUrl(): string {
    return urlOf(this.plan, this.plan.places, '', adminUser);
  }

  migrationUrl(schema: string): string {
    return urlOf(this.plan, this.plan.places, schema, migrationUser(schema));
  }

  get backupUrl(): string {
    return urlOf(this.plan, this.plan.places, '', backupUser);
  }

  url(schema: string): string {
    return urlOf(this.plan, this.plan.places, schema);
  }

  async startAll(): Promise<void> {
    const bootstrapPlace = findBootstrapNode(this.plan) ?? this.plan.places[0];
    const first = this.nodes.find(({ place }) => place === bootstrapPlace)!;
    await first.start(true);
    await Promise.all(this.nodes.filter((node) => node !== first).map((node) => node.start(false)));
  }

  async restart(node: GaleraNode): Promise<void> {
    const own = this.nodes.find((each) => each === node)!;
    await own.ended;
    if (this.bootstrapping === undefined && this.nodes.some((each) => each.isRunning)) return own.start(false);
    // Bootstrapping starts all nodes.
    this.bootstrapping ??= this.startAll().finally(() => (this.bootstrapping = undefined));
    await this.bootstrapping;
  }

  async stopStuckNodes(limits: StuckLimits): Promise<readonly Node[]> {
    const areStuck = await Promise.all(this.nodes.map((node) => node.isStuck(limits)));
    const stuck = this.nodes.filter((_, index) => areStuck[index]);
    if (stuck.length === 0 || !(await this.anyServes())) return [];
    await Promise.all(stuck.map((node) => node.stop()));
    return stuck;
  }

  async killIfNoneServes(noneServesMs: number): Promise<boolean> {
    const isNoneServing = this.bootstrapping === undefined && this.nodes.some((node) => node.isRunning) && !(await this.anyServes());
    this.noneServesSinceMs = isNoneServing ? (this.noneServesSinceMs ?? performance.now()) : undefined;
    if (this.noneServesSinceMs === undefined || performance.now() - this.noneServesSinceMs <= noneServesMs) return false;
    this.noneServesSinceMs = undefined;
    // All at once, so that no restarted node tries to join one that is about to end. Acknowledged transactions are on the disks.
    for (const node of this.nodes) node.kill('SIGKILL');
    await Promise.all(this.nodes.map((node) => node.ended));
    return true;
  }

  private async anyServes(): Promise<boolean> {
    return (await Promise.all(this.nodes.map((node) => node.serves()))).includes(true);
  }

  async stop(): Promise<void> {
    // The first node stops last, so that it has the most recent data.
    for (const node of [...this.nodes].reverse()) await node.stop();
  }
}

function urlOf({ credentials }: ClusterPlan, places: readonly NodePlace[], schema: string, user = schema): string {
  const password = credentials[user];
  if (password === undefined) throw new Error(`Galera has no user ${user}.`);
  return `mysql://${user}:${password}@${places.map(({ port }) => `127.0.0.1:${port}`).join(',')}/${schema}`;
}
