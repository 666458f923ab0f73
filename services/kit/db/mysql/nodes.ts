// Chooses which of several MySQL hosts is written to. All connections of a process go to one node until that node fails: writers on
// several nodes of a Galera cluster are safe, but they roll each other back.
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../../log.js';
import { isConnectionLost, isUnwritable } from '../errors.js';
import type { MysqlHost } from './address.js';
import { faultOf, type Login } from './probe.js';
import { isSame, SilenceWatch, type WatchedConnection } from './silence.js';

/** How long a node may take to confirm that it is writable. */
const probeMs = 1500;
/** How long to keep looking while no node is writable. */
const chooseMs = 4000;
/** How long a statement waits for a response before its node is probed. */
const silenceMs = 1000;
const roundMs = 100;
/** Maximum number of attempts to open a connection; each may choose another node. */
const connectsMax = 3;

/** The nodes of one database in one process. Call `close` when done. */
export class MysqlNodes {
  private current: MysqlHost | undefined;
  /** The node that failed last: the others are tried before it. */
  private failed: MysqlHost | undefined;
  private choosing: Promise<MysqlHost> | undefined;
  private readonly silence: SilenceWatch;

  constructor(
    private readonly hosts: readonly MysqlHost[],
    private readonly login: Login,
    private readonly log: Pick<Logger, 'warn'> | undefined,
  ) {
    this.silence = new SilenceWatch({
      silenceMs,
      isDead: async (host) => (await faultOf(host, login, probeMs)) !== undefined,
      onDead: (host, error) => this.lose(host, error),
    });
  }

  /** Reports whether connections to this host may still be used. */
  isCurrent(host: MysqlHost): boolean {
    return this.current !== undefined && isSame(this.current, host);
  }

  /**
   * Opens a connection to the current node: the same one until it fails, then the first that is writable. Raises what
   * `open` raises, and ECONNREFUSED when no node becomes writable in time.
   */
  async connect<T>(open: (host: MysqlHost) => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      const host = await this.choose();
      try {
        return await open(host);
      } catch (error) {
        if (!isConnectionLost(error)) throw error;
        this.lose(host, error as Error);
        if (tries >= connectsMax) throw error;
      }
    }
  }

  /**
   * Watches the statements of a connection. Silence, or an error that shows that the node is lost or cannot write, makes the process choose
   * again.
   */
  watch(connection: WatchedConnection): void {
    this.silence.watch(connection, (error) => {
      if (isConnectionLost(error) || isUnwritable(error)) this.lose(connection.config, error);
    });
  }

  /** Stops watching. */
  close(): void {
    this.silence.close();
  }

  private choose(): Promise<MysqlHost> {
    if (this.current !== undefined) return Promise.resolve(this.current);
    this.choosing ??= this.search().finally(() => (this.choosing = undefined));
    return this.choosing;
  }

  private async search(): Promise<MysqlHost> {
    const order = this.hosts.filter((host) => host !== this.failed);
    if (this.failed !== undefined) order.push(this.failed);
    for (const untilMs = performance.now() + chooseMs; ; await delay(roundMs)) {
      const faults: string[] = [];
      const answers = order.map((host) => faultOf(host, this.login, probeMs));
      for (const [index, host] of order.entries()) {
        const fault = await answers[index];
        if (fault === undefined) return this.take(host);
        faults.push(`${host.host}:${host.port}: ${fault}`);
      }
      if (performance.now() < untilMs) continue;
      throw Object.assign(new Error(`None of the database's hosts can be written to (${faults.join('; ')}).`), {
        code: 'ECONNREFUSED',
        syscall: 'connect',
      });
    }
  }

  private take(host: MysqlHost): MysqlHost {
    if (this.failed !== undefined) this.log?.warn({ host: host.host, port: host.port }, 'writing to this database node from now on');
    this.failed = undefined;
    this.current = host;
    return host;
  }

  private lose({ host, port }: MysqlHost, error: Error): void {
    if (!this.isCurrent({ host, port })) return;
    this.log?.warn({ host, port, err: error }, 'this database node failed; choosing another');
    this.failed = this.current;
    this.current = undefined;
  }
}
