// Creates a span for each statement of a traced call. The statement's text has placeholders; the bound values are never part of a span.
// Attribute names of https://opentelemetry.io/docs/specs/semconv/db/database-spans/.
import { basename } from 'node:path';
import { type Attributes, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { Knex } from 'knex';
import { recordedSpan } from '../../telemetry/traces/recorded-trace.js';
import { countStatement } from './db-metrics.js';
import type { DbSystem, Engine } from '../engine.js';
import { statementOf } from './statement-of.js';
import { addException, classOf } from '../../telemetry/traces/exception-event.js';

interface QueryEvent {
  __knexQueryUid: string;
  sql: string;
}

/** The properties of the database in drivers' connections and in knex; SQLite's have only a file name. */
export interface ConnectionFacts {
  readonly name?: string;
  /** Absent for SQLite. */
  readonly system?: DbSystem;
  readonly config?: { readonly host?: string; readonly port?: number; readonly socketPath?: string; readonly database?: string };
}

const tracer = trace.getTracer('tollgate.db');
const textCharsMax = 1000;

/** Starts the span of a statement, or of `times` runs of it; returns undefined outside a recorded trace. */
export function traceStatement(system: DbSystem, sql: string, connection: ConnectionFacts, times = 1): Span | undefined {
  if (recordedSpan() === undefined) return undefined;
  const { operation, table } = statementOf(sql);
  const summary = table === undefined ? operation : `${operation} ${table}`;
  const attributes = {
    'db.system.name': system,
    ...placeOf(connection),
    'db.operation.name': operation,
    ...(table === undefined ? {} : { 'db.collection.name': table }),
    'db.query.summary': summary,
    'db.query.text': sql.length > textCharsMax ? `${sql.slice(0, textCharsMax)}…` : sql,
    ...(times > 1 ? { 'db.operation.batch.size': times } : {}),
  };
  return tracer.startSpan(summary, { kind: SpanKind.CLIENT, attributes });
}

/** Starts the span of a command of Redis that runs a script of ours; returns undefined outside a recorded trace. */
export function traceCommand(operation: string, script: string, server: Attributes): Span | undefined {
  if (recordedSpan() === undefined) return undefined;
  const summary = `${operation} ${script}`;
  const attributes = {
    'db.system.name': 'redis',
    ...server,
    'db.operation.name': operation,
    'db.stored_procedure.name': script,
    'db.query.summary': summary,
  };
  return tracer.startSpan(summary, { kind: SpanKind.CLIENT, attributes });
}

/** Ends the span of a statement. Records only the class of an error: a driver's message may quote values. */
export function endStatement(span: Span, error?: unknown): void {
  if (error !== undefined) {
    const type = classOf(error);
    span.setAttributes({ 'error.type': type, 'db.response.status_code': type });
    span.setStatus({ code: SpanStatusCode.ERROR });
    addException(span, error);
  }
  span.end();
}

/** Counts the statements of this knex and of its transactions, and traces those of a recorded trace. */
export function watchStatements(knex: Knex, engine: Engine): void {
  const open = new Map<string, { readonly span: Span | undefined; readonly beganAtMs: number }>();
  const client = knex.client as {
    readonly system?: DbSystem;
    readonly connectionSettings: { filename?: string } & NonNullable<ConnectionFacts['config']>;
  };
  const end = (event: QueryEvent, error?: Error): void => {
    const statement = open.get(event.__knexQueryUid);
    if (statement === undefined) return;
    open.delete(event.__knexQueryUid);
    countStatement(client.system ?? engine, event.sql, statement.beganAtMs, error);
    if (statement.span !== undefined) endStatement(statement.span, error);
  };
  knex.on('query', (event: QueryEvent) => {
    const { system = engine, connectionSettings } = client;
    const { filename } = connectionSettings;
    const span = traceStatement(system, event.sql, filename === undefined ? { config: connectionSettings } : { name: filename });
    open.set(event.__knexQueryUid, { span, beganAtMs: performance.now() });
  });
  knex.on('query-response', (_response: unknown, event: QueryEvent) => end(event));
  knex.on('query-error', (error: Error, event: QueryEvent) => end(event, error));
}

function placeOf({ name, config }: ConnectionFacts): Attributes {
  if (config === undefined) return name === undefined ? {} : { 'db.namespace': basename(name) };
  const { host, port, socketPath, database } = config;
  return {
    ...(database === undefined ? {} : { 'db.namespace': database }),
    ...(socketPath === undefined ? { 'server.address': host, 'server.port': port } : { 'server.address': socketPath }),
  };
}
