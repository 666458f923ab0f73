// Creates a span for each statement of a traced call. The statement's text has placeholders; the bound values are never part of a span.
// Attribute names of https://opentelemetry.io/docs/specs/semconv/db/database-spans/.
import { basename } from 'node:path';
import { type Attributes, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { Knex } from 'knex';
import { recordedSpan } from '../telemetry/traces/recorded-trace.js';
import { addException, classOf } from '../telemetry/traces/exception-event.js';

interface QueryEvent {
  __knexQueryUid: string;
  sql: string;
}

/** What drivers' connections and knex know of the database; SQLite's have only a file name. */
export interface ConnectionFacts {
  readonly name?: string;
  readonly config?: { readonly host?: string; readonly port?: number; readonly socketPath?: string; readonly database?: string };
}

const tracer = trace.getTracer('tollgate.db');
const textCharsMax = 1000;

/** Starts the span of a statement, or of `times` runs of it; returns undefined outside a recorded trace. `system` is its db.system.name. */
export function traceStatement(system: 'sqlite' | 'mysql', sql: string, connection: ConnectionFacts, times = 1): Span | undefined {
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

/** Traces the statements of this knex and of its transactions. Statements outside a recorded trace cost one check. */
export function traceStatements(knex: Knex, system: 'sqlite' | 'mysql'): void {
  const open = new Map<string, Span>();
  const { connectionSettings } = knex.client as { connectionSettings: { filename?: string } & NonNullable<ConnectionFacts['config']> };
  const end = (event: QueryEvent, error?: Error): void => {
    const span = open.get(event.__knexQueryUid);
    if (span === undefined) return;
    open.delete(event.__knexQueryUid);
    endStatement(span, error);
  };
  knex.on('query', (event: QueryEvent) => {
    const { filename } = connectionSettings;
    const span = traceStatement(system, event.sql, filename === undefined ? { config: connectionSettings } : { name: filename });
    if (span !== undefined) open.set(event.__knexQueryUid, span);
  });
  knex.on('query-response', (_response: unknown, event: QueryEvent) => end(event));
  knex.on('query-error', (error: Error, event: QueryEvent) => end(event, error));
}

/** Returns what a statement does, and the first table that it names. */
export function statementOf(sql: string): { operation: string; table: string | undefined } {
  const operation = /^\W*(\w+)/.exec(sql)?.[1]?.toUpperCase() ?? 'SQL';
  const table = /\b(?:FROM|INTO|UPDATE|JOIN|TABLE)\s+[`"]?(\w+)/i.exec(sql)?.[1];
  return { operation, table };
}

function placeOf({ name, config }: ConnectionFacts): Attributes {
  if (config === undefined) return name === undefined ? {} : { 'db.namespace': basename(name) };
  const { host, port, socketPath, database } = config;
  return {
    ...(database === undefined ? {} : { 'db.namespace': database }),
    ...(socketPath === undefined ? { 'server.address': host, 'server.port': port } : { 'server.address': socketPath }),
  };
}
