// Identifies the caller: by its certificate under TLS, by the name that it sends where only trusted processes can connect.
import type { Http2Session } from 'node:http2';
import type { PeerCertificate } from 'node:tls';
import type { ServerDuplexStream, ServerUnaryCall, ServerWritableStream } from '@grpc/grpc-js';
import { AppError } from '#client/errors/app-error.js';
import { callerKey } from '#client/grpc/grpc-wire.js';

/** A call as the server holds it, of any kind. */
export type ServerCall = ServerUnaryCall<unknown, Buffer> | ServerWritableStream<unknown, Buffer> | ServerDuplexStream<unknown, Buffer>;

/** The caller, as the connection identifies it. */
export interface Identity {
  /** The common name or SPIFFE ID in the certificate; without TLS the name that the caller sends. */
  readonly caller: string;
  /** SHA-256 of the certificate in lower-case hex. */
  readonly certificateSha256?: string;
}

/**
 * Returns the caller: under TLS the one in its certificate, elsewhere the name that it sends, or else `assumed`. Raises
 * peer_not_permitted when the caller cannot be identified.
 */
export function callerOf(call: ServerCall, tls: boolean, assumed?: string): Identity {
  const identity = tls ? certifiedIdentity(call) : claimedIdentity(call, assumed);
  if (identity !== undefined) return identity;
  const fault = tls ? 'its certificate must have either one common name or one SPIFFE id' : `it must send ${callerKey} metadata`;
  throw new AppError('peer_not_permitted', `The caller cannot be identified: ${fault}.`);
}

function claimedIdentity(call: ServerCall, assumed: string | undefined): Identity | undefined {
  const name = call.metadata.get(callerKey)[0] ?? assumed;
  return typeof name === 'string' && name !== '' ? { caller: name } : undefined;
}

// Reading a certificate takes 0.4 ms, more than the rest of a call, and a connection's certificate never changes.
const identityOfSession = new WeakMap<object, Identity | undefined>();

function certifiedIdentity(call: ServerCall): Identity | undefined {
  // Without a session, each call reads the certificate again.
  const session = sessionOf(call);
  if (session !== undefined && identityOfSession.has(session)) return identityOfSession.get(session);
  const certificate = call.getAuthContext().sslPeerCertificate;
  const identity = certificate === undefined ? undefined : identityOf(certificate);
  if (session !== undefined) identityOfSession.set(session, identity);
  return identity;
}

/** Returns the connection of a call. grpc-js has no public handle of it; undefined if a later version keeps it elsewhere. */
export function sessionOf(call: ServerCall): Http2Session | undefined {
  return (call as unknown as { call?: { stream?: { session?: Http2Session } } }).call?.stream?.session;
}

/**
 * Returns the caller that a verified certificate identifies: by its SPIFFE ID when it has URIs in its subjectAltName, otherwise by its common
 * name. Returns undefined when it has several of either, which could be several callers.
 */
export function identityOf({ subject, subjectaltname, fingerprint256 }: PeerCertificate): Identity | undefined {
  const uris = urisIn(subjectaltname ?? '');
  const commonName: unknown = subject?.CN;
  const caller = uris.length > 0 ? (uris.length === 1 && spiffeId.test(uris[0]!) ? uris[0]! : undefined) : commonName;
  if (typeof caller !== 'string' || caller === '') return undefined;
  // A common name that looks like a SPIFFE ID must not pass for one.
  if (uris.length === 0 && caller.includes('/')) return undefined;
  return { caller, certificateSha256: fingerprint256.replaceAll(':', '').toLowerCase() };
}

/** https://github.com/spiffe/spiffe/blob/main/standards/SPIFFE-ID.md#2-spiffe-identity */
export const spiffeId = /^spiffe:\/\/[a-z0-9._-]{1,255}(\/[A-Za-z0-9._-]+)+$/;

// Node joins the names with ", " and puts a value that contains anything special in double quotes, as JSON.
function urisIn(subjectAltName: string): string[] {
  return [...subjectAltName.matchAll(/(?:^|, )([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^,]*)/g)]
    .filter(([, kind]) => kind === 'URI')
    .map(([, , value]) => (value!.startsWith('"') ? (JSON.parse(value!) as string) : value!));
}

const loopback = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\]):\d+$/;

/** Throws when other machines can reach the address. */
export function refuseOpenAddress(address: string): void {
  if (address.startsWith('unix:') || loopback.test(address)) return;
  throw new Error(
    `${address} is not a loopback address, so callers must prove who they are: set TOLLGATE_TLS_CA, TOLLGATE_TLS_CERT and ` +
      'TOLLGATE_TLS_KEY (or TOLLGATE_TRUST_NETWORK=true if the network itself keeps everyone else out).',
  );
}
