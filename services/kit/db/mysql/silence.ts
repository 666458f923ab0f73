// Ends the statements that wait on a server which answers nothing any more: a stopped process, or a machine that is gone, also closes
// nothing, so without this they would wait for as long as the system keeps the connection.
import type { MysqlHost } from './address.js';

type Callback = (error: Error | null, ...results: unknown[]) => void;

/** What is used of a mysql2 connection. */
export interface WatchedConnection {
  readonly config: MysqlHost;
  readonly stream: { destroy(error: Error): unknown; once(event: 'close', closed: () => void): unknown };
  /** What is asked, and last a callback. */
  query(...args: unknown[]): unknown;
}

/** How silence is noticed. */
export interface SilenceOptions {
  /** How long a statement goes unanswered before its server is asked whether it is alive. */
  readonly silenceMs: number;
  /** Asks a server over a connection of its own, since a slow statement looks the same as a silent server. Never raises. */
  readonly isDead: (host: MysqlHost) => Promise<boolean>;
  /** Is told of a dead server before its statements end. */
  readonly onDead?: (host: MysqlHost, error: Error) => void;
}

/** The statements of one database in one process that have no answer yet. Call `close` when done. */
export class SilenceWatch {
  /** Since when a connection waits for the answer to its statement. */
  private readonly waiting = new Map<WatchedConnection, number>();
  private readonly timer: NodeJS.Timeout;
  private isAsking = false;

  constructor(private readonly options: SilenceOptions) {
    this.timer = setInterval(() => void this.askTheSilent(), options.silenceMs / 4).unref();
  }

  /** Has the statements of a connection watched; `failed` is told of their errors before whoever sent them. */
  watch(connection: WatchedConnection, failed: (error: Error) => void = () => undefined): void {
    const query = connection.query.bind(connection);
    // A connection that is destroyed while it waits never answers.
    connection.stream.once('close', () => this.waiting.delete(connection));
    connection.query = (...args) => {
      const done = args.at(-1);
      // Only streams of rows have no callback, and they show their life by their rows.
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

  /** Ends the watch. */
  close(): void {
    clearInterval(this.timer);
  }

  /** Each server on which a statement waits for long is asked, also one to which no new connection goes. */
  private async askTheSilent(): Promise<void> {
    if (this.isAsking) return;
    this.isAsking = true;
    await Promise.all(this.silentHosts().map((host) => this.ask(host))).finally(() => (this.isAsking = false));
  }

  private async ask(host: MysqlHost): Promise<void> {
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

/** Whether both are one server. */
export function isSame(a: MysqlHost, b: MysqlHost): boolean {
  return a.host === b.host && a.port === b.port;
}

function isCallback(value: unknown): value is Callback {
  return typeof value === 'function';
}

function silence(): Error {
  return Object.assign(new Error('The database server does not answer any more.'), { code: 'ETIMEDOUT' });
}
