// Fails the statements that wait on a server that no longer responds. A stopped process or a lost machine does not close its connections,
// so without this they would wait for as long as the system keeps the connection.
import type { MysqlHost } from './address.js';

type Callback = (error: Error | null, ...results: unknown[]) => void;

/** The part of a mysql2 connection that is used here. */
export interface WatchedConnection {
  readonly config: MysqlHost;
  readonly stream: { destroy(error: Error): unknown; once(event: 'close', closed: () => void): unknown };
  /** The statement, then a callback as the last argument. */
  query(...args: unknown[]): unknown;
}

/** Options of `SilenceWatch`. */
export interface SilenceOptions {
  /** How long a statement waits for a response before its server is probed. */
  readonly silenceMs: number;
  /** Probes a server over a separate connection, because a slow statement looks the same as a silent server. Never raises. */
  readonly isDead: (host: MysqlHost) => Promise<boolean>;
  /** Called with a dead server before its statements fail. */
  readonly onDead?: (host: MysqlHost, error: Error) => void;
}

/** Watches the statements of one database in one process, and fails those that wait on a dead server. Call `close` when done. */
export class SilenceWatch {
  /** When each connection began to wait for the response to its statement. */
  private readonly waiting = new Map<WatchedConnection, number>();
  private readonly timer: NodeJS.Timeout;
  private isProbing = false;

  constructor(private readonly options: SilenceOptions) {
    this.timer = setInterval(() => void this.probeSilentHosts(), options.silenceMs / 4).unref();
  }

  /** Watches the statements of a connection; `failed` is called with their errors before their callers are. */
  watch(connection: WatchedConnection, failed: (error: Error) => void = () => undefined): void {
    const query = connection.query.bind(connection);
    // A connection that is destroyed while it waits never calls back.
    connection.stream.once('close', () => this.waiting.delete(connection));
    connection.query = (...args) => {
      const done = args.at(-1);
      // Only streams of rows have no callback, and their rows show that the server is alive.
      if (!isCallback(done)) return query(...args);
      this.waiting.set(connection, performance.now());
      const answered: Callback = (error, ...results) => {
        this.waiting.delete(connection);
        if (error !== null) failed(error);
        done(error, ...results);
      };
      return query(...args.slice(0, -1), answered);
    };
  }

  /** Stops watching. */
  close(): void {
    clearInterval(this.timer);
  }

  /** Probes each server that has not responded to a statement for long, even if no new connections are opened to it. */
  private async probeSilentHosts(): Promise<void> {
    if (this.isProbing) return;
    this.isProbing = true;
    await Promise.all(this.silentHosts().map((host) => this.probe(host))).finally(() => (this.isProbing = false));
  }

  private async probe(host: MysqlHost): Promise<void> {
    const isDead = await this.options.isDead(host);
    if (!isDead || !this.silentHosts().some((each) => isSame(each, host))) return;
    this.options.onDead?.(host, silence());
    for (const connection of this.waiting.keys()) {
      if (isSame(connection.config, host)) connection.stream.destroy(silence());
    }
  }

  private silentHosts(): MysqlHost[] {
    const sinceMs = performance.now() - this.options.silenceMs;
    const hosts: MysqlHost[] = [];
    for (const [{ config }, startedMs] of this.waiting) {
      if (startedMs <= sinceMs && !hosts.some((each) => isSame(each, config))) hosts.push({ host: config.host, port: config.port });
    }
    return hosts;
  }
}

/** Reports whether both are the same server. */
export function isSame(a: MysqlHost, b: MysqlHost): boolean {
  return a.host === b.host && a.port === b.port;
}

function isCallback(value: unknown): value is Callback {
  return typeof value === 'function';
}

function silence(): Error {
  return Object.assign(new Error('The database server stopped responding.'), { code: 'ETIMEDOUT' });
}
