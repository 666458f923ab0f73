// The metrics of databases: how long statements take and how connections are used. A statement is parsed once per text.
import { gauge, counter, histogram, observe, type Buckets, type Count } from '../../telemetry/metrics.js';
import type { DbSystem } from '../engine.js';
import { withoutKnexAdvice } from '../errors.js';
import { statementOf } from './statement-of.js';

const by = 'database';
const poolName = 'The database; with "transactions" after it, the connections of plain transactions.';
const pool = { 'db.client.connection.pool.name': poolName };
const operationDuration = histogram(
  {
    name: 'db.client.operation.duration',
    unit: 's',
    description: 'Duration of SQL statements, and of the commands of the rate limits in Redis.',
    by,
    labels: {
      'db.system.name': 'sqlite, mariadb, mysql or redis',
      'db.operation.name': 'SELECT, INSERT, COMMIT and so on; in Redis EVALSHA',
      'db.collection.name': 'The first table that the statement names; empty for statements that change no rows.',
      'error.type': 'The error code of the database, if the statement failed.',
    },
  },
  [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10],
);
const connections = gauge({
  name: 'db.client.connection.count',
  unit: '{connection}',
  description: 'Open connections.',
  by,
  labels: { ...pool, 'db.client.connection.state': 'idle or used' },
});
const connectionsMax = gauge({
  name: 'db.client.connection.max',
  unit: '{connection}',
  description: 'The maximum number of connections.',
  by,
  labels: pool,
});
const pendingRequests = gauge({
  name: 'db.client.connection.pending_requests',
  unit: '{request}',
  description: 'Requests that wait for a connection.',
  by,
  labels: pool,
});
const connectionTimeouts = counter({
  name: 'db.client.connection.timeouts',
  unit: '{timeout}',
  description: 'Requests that got no connection.',
  by,
  labels: pool,
});
const connectionWait = histogram(
  { name: 'db.client.connection.wait_time', unit: 's', description: 'How long requests waited for a connection.', by, labels: pool },
  [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10],
);
const walSync = histogram(
  { name: 'tollgate.wal.sync.duration', unit: 's', description: 'Duration of the disk syncs that make SQLite commits durable.', by },
  [0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5],
);

/** What a statement does, and to which table. */
interface Statement {
  readonly operation: string;
  readonly table: string;
  /** The series of those that succeed. */
  readonly succeeded: Buckets;
}

const queries: ReadonlySet<string> = new Set(['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'REPLACE']);
/** Maximum number of parsed statements per engine: the texts of statements on many rows differ by their number of rows. */
const statementsMax = 2000;
const statements: Readonly<Record<DbSystem, Map<string, Statement>>> = { sqlite: new Map(), mysql: new Map(), mariadb: new Map() };

/** Counts a statement that began at this time of `performance.now()` and has ended. */
export function countStatement(system: DbSystem, sql: string, beganAtMs: number, error?: unknown): void {
  const seconds = (performance.now() - beganAtMs) / 1000;
  const statement = statements[system].get(sql) ?? parse(system, sql);
  if (error === undefined) return statement.succeeded.record(seconds);
  const { code, name } = error as { code?: string; name?: string };
  seriesOf(system, statement, code ?? name ?? 'unknown').record(seconds);
}

function parse(system: DbSystem, sql: string): Statement {
  const { operation, table = '' } = statementOf(sql);
  // The statements of migrations would add a series for every table.
  const named = { operation, table: queries.has(operation) ? table : '' };
  const statement = { ...named, succeeded: seriesOf(system, named, '') };
  const known = statements[system];
  if (known.size >= statementsMax) known.clear();
  known.set(sql, statement);
  return statement;
}

/** Counts a command of Redis that began at this time of `performance.now()` and has ended. */
export function countCommand(operation: string, beganAtMs: number, error?: unknown): void {
  const { code, name } = (error ?? { name: '' }) as { code?: string; name: string };
  seriesOf('redis', { operation, table: '' }, code ?? name).record((performance.now() - beganAtMs) / 1000);
}

function seriesOf(system: DbSystem | 'redis', { operation, table }: Pick<Statement, 'operation' | 'table'>, errorType: string): Buckets {
  return operationDuration.of({
    'db.system.name': system,
    'db.operation.name': operation,
    'db.collection.name': table,
    'error.type': errorType,
  });
}

/** Records a sync of a log. */
export function countSync(beganAtMs: number): void {
  walSync.of().record((performance.now() - beganAtMs) / 1000);
}

/** The part of knex's pool that is measured. */
export interface MeasuredPool {
  readonly max: number;
  numUsed(): number;
  numFree(): number;
  numPendingAcquires(): number;
}

/** Measures how connections are taken from a pool. */
export class PoolMetrics {
  readonly #labels: { readonly 'db.client.connection.pool.name': string };
  readonly #wait: Buckets;
  readonly #timeouts: Count;
  readonly #end: () => void;

  constructor(name: string, connectionPool: MeasuredPool) {
    this.#labels = { 'db.client.connection.pool.name': name };
    this.#wait = connectionWait.of(this.#labels);
    this.#timeouts = connectionTimeouts.of(this.#labels);
    this.#end = observe(() => [
      connections.at(connectionPool.numUsed(), { ...this.#labels, 'db.client.connection.state': 'used' }),
      connections.at(connectionPool.numFree(), { ...this.#labels, 'db.client.connection.state': 'idle' }),
      connectionsMax.at(connectionPool.max, this.#labels),
      pendingRequests.at(connectionPool.numPendingAcquires(), this.#labels),
    ]);
  }

  /** Counts a connection that was taken without waiting. */
  tookFree(): void {
    this.#wait.record(0);
  }

  /** Returns the connection that `acquire` returns, and counts how long that takes. */
  async acquire(acquire: () => Promise<unknown>): Promise<unknown> {
    const beganAtMs = performance.now();
    try {
      return await acquire();
    } catch (error) {
      this.#timeouts.add();
      throw withoutKnexAdvice(error);
    } finally {
      this.#wait.record((performance.now() - beganAtMs) / 1000);
    }
  }

  end(): void {
    this.#end();
  }
}
