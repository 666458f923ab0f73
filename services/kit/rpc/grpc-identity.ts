// Who is calling: what the certificate says under TLS; what the caller says where only trusted processes can connect.
import type { ServerDuplexStream, ServerUnaryCall, ServerWritableStream } from '@grpc/grpc-js';
import { AppError } from '../errors/app-error.js';
import { callerKey } from './grpc-wire.js';

/** A call as the server holds it, of any kind. */
export type ServerCall = ServerUnaryCall<Buffer, Buffer> | ServerWritableStream<Buffer, Buffer> | ServerDuplexStream<Buffer, Buffer>;

/**
 * Returns the caller's name: under TLS that of its certificate, elsewhere what it calls itself, or else `assumed`. Raises
 * peer_not_permitted when nothing establishes one.
 */
export function callerOf(call: ServerCall, tls: boolean, assumed?: string): string {
  const name = tls ? certifiedName(call) : (call.metadata.get(callerKey)[0] ?? assumed);
  if (typeof name === 'string' && name !== '') return name;
  const fix = tls ? 'its certificate has not one common name' : `it sent no ${callerKey} metadata`;
  throw new AppError('peer_not_permitted', `The caller did not say who it is: ${fix}.`);
}

// Reading a certificate takes 0.4 ms, more than the rest of a call, and a connection never changes its own.
const nameOfSession = new WeakMap<object, string | undefined>();

function certifiedName(call: ServerCall): string | undefined {
  // grpc-js offers no handle of the connection; should a later version keep it elsewhere, each call reads the certificate again.
  const session = (call as unknown as { call?: { stream?: { session?: object } } }).call?.stream?.session;
  if (session !== undefined && nameOfSession.has(session)) return nameOfSession.get(session);
  const commonName = call.getAuthContext().sslPeerCertificate?.subject.CN;
  // Several common names would be several callers: none counts.
  const name = typeof commonName === 'string' ? commonName : undefined;
  if (session !== undefined) nameOfSession.set(session, name);
  return name;
}

const loopback = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\]):\d+$/;

/** Throws for an address that other machines can reach. */
export function refuseOpenAddress(address: string): void {
  if (address.startsWith('unix:') || loopback.test(address)) return;
  throw new Error(
    `${address} is not a loopback address, so callers must prove who they are: set TOLLGATE_TLS_CA, TOLLGATE_TLS_CERT and ` +
      'TOLLGATE_TLS_KEY (or TOLLGATE_TRUST_NETWORK=true where the network itself keeps everybody else out).',
  );
}
