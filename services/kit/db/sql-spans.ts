// A span for each statement of a traced call. The statement's text holds placeholders; the bound values are never part of a span.
import { type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { Knex } from 'knex';

interface QueryEvent {
  __knexQueryUid: string;
  sql: string;
}

const tracer = trace.getTracer('tollgate.db');

/**
 * Traces the statements of this knex, those of its transactions too; `system` is their db.system.name. Statements outside a
 * recorded trace cost a look only.
 */
export function traceStatements(knex: Knex, system: 'sqlite' | 'mysql'): void {
  const open = new Map<string, Span>();
  const end = (event: QueryEvent, error?: Error): void => {
    const span = open.get(event.__knexQueryUid);
    if (span === undefined) return;
    open.delete(event.__knexQueryUid);
    // The class of the error only: a driver's message may quote values.
    if (error !== undefined) {
      span.setAttribute('error.type', (error as { code?: string }).code ?? error.name);
      span.setStatus({ code: SpanStatusCode.ERROR });
    }
    span.end();
  };
  knex.on('query', (event: QueryEvent) => {
    if (trace.getActiveSpan()?.isRecording() !== true) return;
    const operation = /^\w+/.exec(event.sql)?.[0].toUpperCase() ?? 'SQL';
    // Attribute names of https://opentelemetry.io/docs/specs/semconv/database/database-spans/.
    const attributes = { 'db.system.name': system, 'db.operation.name': operation, 'db.query.text': event.sql };
    open.set(event.__knexQueryUid, tracer.startSpan(operation, { kind: SpanKind.CLIENT, attributes }));
  });
  knex.on('query-response', (_response: unknown, event: QueryEvent) => end(event));
  knex.on('query-error', (error: Error, event: QueryEvent) => end(event, error));
}
