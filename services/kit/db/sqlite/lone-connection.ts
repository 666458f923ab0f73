// Provides the only connection of a SQLite file. While no transaction waits for it, it is not returned to knex's pool, because returning and acquiring it
// costs as much as several statements.
import type { MeasuredPool } from '../statements/db-metrics.js';
import type { ConnectionPool } from '../plain/run-plain.js';

/** The connection of a pool that has only one. */
export class LoneConnection implements MeasuredPool {
  readonly max = 1;
  readonly #acquire: () => Promise<unknown>;
  readonly #release: (connection: unknown) => Promise<unknown>;
  /** The connection while it is not in use. */
  #free: unknown;
  #isClosing = false;

  constructor(
    client: ConnectionPool,
    private readonly pool: MeasuredPool,
  ) {
    this.#acquire = client.acquireConnection.bind(client);
    this.#release = client.releaseConnection.bind(client);
  }

  /** The connection if it is not in use. */
  get free(): unknown {
    return this.#free;
  }

  /** Takes the connection if it is not in use. */
  takeFree(): unknown {
    const connection = this.#free;
    this.#free = undefined;
    return connection;
  }

  /** Opens the connection, or waits until it is free. Raises KnexTimeoutError if that takes too long. */
  acquire(): Promise<unknown> {
    return this.#acquire();
  }

  /** Returns the connection to the pool if a caller waits for it there, and keeps it otherwise. */
  async release(connection: unknown): Promise<void> {
    if (this.#isClosing || this.pool.numPendingAcquires() > 0) await this.#release(connection);
    else this.#free = connection;
  }

  numUsed(): number {
    return this.pool.numUsed() - this.numKept();
  }

  numFree(): number {
    return this.pool.numFree() + this.numKept();
  }

  numPendingAcquires(): number {
    return this.pool.numPendingAcquires();
  }

  /** Returns the connection to the pool, which can then be destroyed. A connection that is in use is returned when it is released. */
  async close(): Promise<void> {
    this.#isClosing = true;
    const connection = this.takeFree();
    if (connection !== undefined) await this.#release(connection);
  }

  private numKept(): number {
    return this.#free === undefined ? 0 : 1;
  }
}
