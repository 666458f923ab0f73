// Creates a span for each statement of a traced call. The statement's text has placeholders; the bound values are never part of a span.
import { type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { Knex } from 'knex';

interface QueryEvent {
  __knexQueryUid: string;
  sql: string;
}

const tracer = trace.getTracer('tollgate.db');

/** Starts the span of a statement; returns undefined outside a recorded trace. `system` is its db.system.name. */
export function traceStatement(system: 'sqlite' | 'mysql', sql: string): Span | undefined {
  if (trace.getActiveSpan()?.isRecording() !== true) return undefined;
  const operation = /^\w+/.exec(sql)?.[0].toUpperCase() ?? 'SQL';
  // Attribute names of https://opentelemetry.io/docs/specs/semconv/database/database-spans/.
  const attributes = { 'db.system.name': system, 'db.operation.name': operation, 'db.query.text': sql };
  return tracer.startSpan(operation, { kind: SpanKind.CLIENT, attributes });
}

/** Ends the span of a statement. Records only the class of an error: a driver's message may quote values. */
export function endStatement(span: Span, error?: unknown): void {
  if (error !== undefined) {
    const { code, name } = error as { code?: string; name?: string };
    span.setAttribute('error.type', code ?? name ?? 'unknown');
    span.setStatus({ code: SpanStatusCode.ERROR });
  }
  span.end();
}

/** Traces the statements of this knex and of its transactions. Statements outside a recorded trace cost one check. */
export function traceStatements(knex: Knex, system: 'sqlite' | 'mysql'): void {
  const open = new Map<string, Span>();
  const end = (event: QueryEvent, error?: Error): void => {
    const span = open.get(event.__knexQueryUid);
    if (span === undefined) return;
    open.delete(event.__knexQueryUid);
    endStatement(span, error);
  };
  knex.on('query', (event: QueryEvent) => {
    const span = traceStatement(system, event.sql);
    if (span !== undefined) open.set(event.__knexQueryUid, span);
  });
  knex.on('query-response', (_response: unknown, event: QueryEvent) => end(event));
  knex.on('query-error', (error: Error, event: QueryEvent) => end(event, error));
}
