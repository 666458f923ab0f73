// A private Galera cluster of three nodes on loopback, from Debian's programs: its own data, no configuration of the system, never
// as root. All of it ends with the process that started it.
import { chmodSync, chownSync, copyFileSync, mkdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { faultOf, isLeftDonor } from '#kit/db/mysql/probe.js';
import type { Logger } from '#kit/log.js';
import { adminUser, loadCredentials } from '../mariadb/credentials.js';
import { findProgram, prepareFolder, type RunAs } from '../mariadb/programs.js';
import { installOnce, type Server } from '../mariadb/server-process.js';
import { claimPorts } from '../ports.js';
import { adminLogin, type ClusterPlan, type NodePlace, probeMs, startNode, stopServer } from './node.js';
import { findFounder } from './recovery.js';

/** How many nodes: two of them are a majority when one is lost. */
export const nodeCount = 3;

/** Options of `startGalera`. */
export interface GaleraOptions {
  /** A folder for this cluster alone; made when absent. */
  readonly dataDir: string;
  /** Client ports of 127.0.0.1 in the order of the nodes; any free ones when absent. */
  readonly ports?: readonly number[];
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** Called at every start of a node, with its new pid. */
  readonly onStart?: (name: string, pid: number) => void;
}

/** A node of a started cluster. */
export interface GaleraNode {
  readonly name: string;
  readonly port: number;
  /** Of its present or last run. */
  readonly pid: number;
  readonly isRunning: boolean;
  /** For `openDatabase`: a schema of this node alone. */
  url(schema: string): string;
  /** Sends a signal, for tests of failures. */
  kill(signal: NodeJS.Signals): void;
  /** Settles when the present run has ended. */
  readonly ended: Promise<void>;
}

/** A started cluster. */
export interface GaleraCluster {
  readonly nodes: readonly GaleraNode[];
  /** For `openDatabase`: a schema of the cluster, with all nodes in order. */
  url(schema: string): string;
  /** A user with all rights, creating schemas included; names no schema. */
  readonly adminUrl: string;
  /** Starts a node that has ended again; it joins the others. When no node runs, the cluster is bootstrapped again from their data. */
  restart(node: GaleraNode): Promise<void>;
  /**
   * Ends the nodes that run but will not serve again by themselves, if another one serves: donors of data that lost the cluster while
   * they gave, seen so at every call for as long as `leftDonorMs`. Gives those, which `restart` brings back.
   */
  endLeftDonors(leftDonorMs: number): Promise<readonly GaleraNode[]>;
  /**
   * Ends all nodes if none of them serves, seen so at every call for as long as `nobodyServesMs`; true if so. `restart` then founds the
   * cluster anew from what is on the disks: all of it is here, so that nobody can be serving elsewhere.
   */
  endIfNobodyServes(nobodyServesMs: number): Promise<boolean>;
  /** Shuts all nodes down cleanly and waits for their end. */
  stop(): Promise<void>;
}

/** Starts the cluster; founds it when the folder is new, and founds it anew from the node that knows most when all had stopped. */
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
  // The transfer of a node's data does not work as root: rsync gives up its rights and can then not write.
  if (process.getuid?.() === 0 && runAs.uid === undefined) {
    throw new Error(
      `Galera does not run as root, and no other user can reach ${folder}: choose another folder, such as one below /var/lib, or start as another user.`,
    );
  }
  findProgram('rsync');
  const credentials = loadCredentials(join(folder, 'credentials.json'));
  const wanted = ports ?? Array.from({ length: nodeCount }, () => 0);
  const claimed = await claimPorts([...wanted, ...Array.from({ length: 3 * nodeCount }, () => 0)]);
  const places = wanted.map((_, index): NodePlace => {
    const name = `n${index + 1}`;
    const [groupPort, missingPort, wholePort] = claimed.slice(nodeCount + 3 * index) as [number, number, number];
    return { name, folder: join(folder, name), port: claimed[index]!, groupPort, missingPort, wholePort };
  });
  for (const place of places) own(place.folder, runAs);
  return {
    places,
    runAs,
    credentials,
    transferFolder: copyTransferScripts(join(folder, 'transfer'), runAs),
  };
}

// Where the scripts are need not be readable for the user of the nodes.
function copyTransferScripts(folder: string, runAs: RunAs): string {
  own(folder, runAs);
  const from = dirname(findProgram('wsrep_sst_rsync'));
  for (const script of ['wsrep_sst_rsync', 'wsrep_sst_common']) {
    copyFileSync(join(from, script), join(folder, script));
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
  private leftDonorSinceMs: number | undefined;
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

  async start(founds: boolean): Promise<void> {
    const { folder } = this.place;
    if (founds) installOnce(folder, this.plan.runAs);
    else own(join(folder, 'data'), this.plan.runAs);
    await startNode(this.plan, this.place, founds, (server) => {
      this.server = server;
      this.isRunning = true;
      this.options.onStart?.(this.name, this.pid);
      void server.ended.then(() => {
        if (this.server === server) this.isRunning = false;
      });
    });
    this.options.log.info({ node: this.name, port: this.port, pid: this.pid, founds }, 'Galera node started');
  }

  /** For how long this has been found at every call. */
  async leftDonorForMs(): Promise<number> {
    const isLeft =
      this.isRunning && (await isLeftDonor({ host: '127.0.0.1', port: this.port }, adminLogin(this.plan.credentials), probeMs));
    this.leftDonorSinceMs = isLeft ? (this.leftDonorSinceMs ?? performance.now()) : undefined;
    return this.leftDonorSinceMs === undefined ? 0 : performance.now() - this.leftDonorSinceMs;
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
  private founding: Promise<void> | undefined;
  private nobodyServesSinceMs: number | undefined;

  constructor(
    private readonly plan: ClusterPlan,
    readonly nodes: readonly Node[],
  ) {}

  get adminUrl(): string {
    return urlOf(this.plan, this.plan.places, '', adminUser);
  }

  url(schema: string): string {
    return urlOf(this.plan, this.plan.places, schema);
  }

  async startAll(): Promise<void> {
    const founding = findFounder(this.plan) ?? this.plan.places[0];
    const founder = this.nodes.find(({ place }) => place === founding)!;
    await founder.start(true);
    await Promise.all(this.nodes.filter((node) => node !== founder).map((node) => node.start(false)));
  }

  async restart(node: GaleraNode): Promise<void> {
    const own = this.nodes.find((each) => each === node)!;
    await own.ended;
    if (this.founding === undefined && this.nodes.some((each) => each.isRunning)) return own.start(false);
    // Founding starts all of them.
    this.founding ??= this.startAll().finally(() => (this.founding = undefined));
    await this.founding;
  }

  async endLeftDonors(leftDonorMs: number): Promise<readonly Node[]> {
    const forMs = await Promise.all(this.nodes.map((node) => node.leftDonorForMs()));
    const left = this.nodes.filter((_, index) => forMs[index]! > leftDonorMs);
    if (left.length === 0 || !(await this.anyServes())) return [];
    await Promise.all(left.map((node) => node.stop()));
    return left;
  }

  async endIfNobodyServes(nobodyServesMs: number): Promise<boolean> {
    const isNobody = this.founding === undefined && this.nodes.some((node) => node.isRunning) && !(await this.anyServes());
    this.nobodyServesSinceMs = isNobody ? (this.nobodyServesSinceMs ?? performance.now()) : undefined;
    if (this.nobodyServesSinceMs === undefined || performance.now() - this.nobodyServesSinceMs <= nobodyServesMs) return false;
    this.nobodyServesSinceMs = undefined;
    // At once, lest one that is started again looks for those that are about to end. What was acknowledged is on the disks.
    for (const node of this.nodes) node.kill('SIGKILL');
    await Promise.all(this.nodes.map((node) => node.ended));
    return true;
  }

  private async anyServes(): Promise<boolean> {
    return (await Promise.all(this.nodes.map((node) => node.serves()))).includes(true);
  }

  async stop(): Promise<void> {
    // The first one last, so that it knows most.
    for (const node of [...this.nodes].reverse()) await node.stop();
  }
}

function urlOf({ credentials }: ClusterPlan, places: readonly NodePlace[], schema: string, user = schema): string {
  const password = credentials[user];
  if (password === undefined) throw new Error(`Galera has no user ${user}.`);
  return `mysql://${user}:${password}@${places.map(({ port }) => `127.0.0.1:${port}`).join(',')}/${schema}`;
}
