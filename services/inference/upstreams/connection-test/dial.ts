// The steps of a test below HTTP: name, connection, TLS. They use the resolver and the connector of real calls, one part at a time.
import { isIP, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { buildConnector } from 'undici';
import { dayMs } from '#kit/clock.js';
import { guardedLookup } from '#kit/net/address-guard.js';
import { finding } from '#rules/errors/finding-sentences.js';
import { faultWords, partsOf } from './operator-text.js';
import { type Found, StepFault } from './step-log.js';

// More addresses than this do not help an operator.
const shownAddressesMax = 4;

/** Returns the host and port of a url for the connector. */
function targetOf(url: URL): Pick<buildConnector.Options, 'hostname' | 'host' | 'port'> {
  return { hostname: url.hostname.replace(/^\[|\]$/g, ''), host: url.host, port: url.port || (url.protocol === 'https:' ? '443' : '80') };
}

/** Resolves the addresses of the url's name. Raises StepFault if there are none, AddressRefused if one is not permitted. */
export async function lookUp(url: URL, allowPrivateNetwork: boolean): Promise<Found<void>> {
  const { hostname } = targetOf(url);
  if (isIP(hostname) !== 0) return { what: finding('no_name', {}), isSkipped: true, value: undefined };
  const addresses = await new Promise<string[]>((resolve, reject) => {
    guardedLookup(allowPrivateNetwork)(hostname, { all: true }, (error, found) => {
      if (error !== null) reject(error);
      else resolve(Array.isArray(found) ? found.map(({ address }) => address) : [found]);
    });
  }).catch((error: unknown) => {
    const { code } = partsOf(error);
    if (code === 'ENOTFOUND') throw new StepFault(finding('name_missing', { name: hostname }));
    if (code === 'EAI_AGAIN') throw new StepFault(finding('resolver_silent', { name: hostname }));
    throw error;
  });
  const shown = addresses.slice(0, shownAddressesMax).join(', ');
  const count = addresses.length - shownAddressesMax;
  const what =
    count > 0
      ? finding('resolved_more', { name: hostname, addresses: shown, count })
      : finding('resolved', { name: hostname, addresses: shown });
  return { what, value: undefined };
}

/** Connects by TCP. `signal` destroys the socket if it connects too late. */
export async function connectTcp(url: URL, connect: buildConnector.connector, signal: AbortSignal): Promise<Found<Socket>> {
  const socket = await dial(connect, { ...targetOf(url), protocol: 'http:' }, signal);
  return { what: finding('connected', { address: socket.remoteAddress ?? '', port: socket.remotePort ?? '' }), value: socket };
}

/** Sets up TLS over the connection, as strictly as calls do. */
export async function secure(
  url: URL,
  plain: Socket,
  connect: buildConnector.connector,
  nowMs: number,
  signal: AbortSignal,
): Promise<Found<Socket>> {
  if (url.protocol !== 'https:') return { what: finding('not_encrypted', {}), isSkipped: true, value: plain };
  const socket = await dial(connect, { ...targetOf(url), protocol: 'https:', httpSocket: plain }, signal).catch((error: unknown) => {
    throw new StepFault(tlsFault(error));
  });
  return { what: socket instanceof TLSSocket ? certificateWords(socket, nowMs) : '', value: socket };
}

function dial(connect: buildConnector.connector, options: buildConnector.Options, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    connect(options, (error, socket) => {
      if (error !== null) return reject(error);
      // Later errors are reported by the code that reads from the socket.
      socket.on('error', () => {});
      const destroy = (): void => void socket.destroy();
      if (signal.aborted) destroy();
      else signal.addEventListener('abort', destroy, { once: true });
      resolve(socket);
    });
  });
}

function certificateWords(socket: TLSSocket, nowMs: number): string {
  const { subject, issuer, valid_to: validTo } = socket.getPeerCertificate();
  const days = Math.floor((Date.parse(validTo) - nowMs) / dayMs);
  const subjectName = nameOf(subject?.CN) || 'no name';
  const issuerName = [nameOf(issuer?.O), nameOf(issuer?.CN)].filter((name) => name !== '').join(' ') || 'no name';
  return finding('certificate', { protocol: socket.getProtocol() ?? 'TLS', subject: subjectName, issuer: issuerName, days });
}

function nameOf(part: string | string[] | undefined): string {
  return Array.isArray(part) ? part.join(' ') : (part ?? '');
}

function tlsFault(error: unknown): string {
  const { message, code } = partsOf(error);
  if (/WRONG_VERSION_NUMBER|PACKET_LENGTH|EPROTO|UNEXPECTED_MESSAGE/.test(code)) return finding('no_tls', { code });
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return finding('other_certificate', { detail: message });
  if (code === 'CERT_HAS_EXPIRED') return finding('certificate_expired', { code });
  if (/^(DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|CERT_|INVALID_|ERR_TLS_CERT)/.test(code)) {
    return finding('certificate_untrusted', { detail: message, code });
  }
  return faultWords(error);
}
