// Why no connection to a service could be opened, from the error of the gRPC library.
import { AppError } from '#client/errors/app-error.js';

/** Returns the cause, such as "connect ECONNREFUSED 127.0.0.1:7103"; undefined if there was a connection, so that the call may have been executed. */
export function connectionFault(error: unknown): string | undefined {
  if (!(error instanceof AppError) || error.reason !== 'service_unavailable') return undefined;
  const { details } = (error.cause ?? {}) as { details?: unknown };
  if (typeof details !== 'string') return undefined;
  // grpc-js 1.14: "Name resolution failed for target dns:///auth:7101", and for each level of its balancers "No connection established. Last error: …
  // Resolution note: …".
  const name = /^Name resolution failed for target dns:\/*(\S+)/.exec(details)?.[1];
  if (name !== undefined) return `the name ${name} cannot be resolved`;
  const last = /No connection established\. Last error: (?!No connection)(?:Error(?: \[\w+\])?: )?(.*?)\.?\s*(?:Resolution note:|$)/s.exec(
    details,
  )?.[1];
  if (last === undefined) return undefined;
  if (/^(Failed to connect|Protocol error)/.test(last))
    return 'the server ended the connection; check that TOLLGATE_TLS_CA, _CERT and _KEY are set for a server with TLS';
  return last.includes('SSL routines')
    ? `the TLS handshake failed: ${last.replace(/^\w+:error:\w+:/, '').replace(/:\.\.\/.*/s, '')}`
    : last;
}
