// The address of a MySQL database, which may name several hosts. Pure.
import { isIP } from 'node:net';
import { AppError } from '#client/errors/app-error.js';

/** Where a server listens. */
export interface MysqlHost {
  readonly host: string;
  readonly port: number;
}

/** A parsed url. */
export interface MysqlAddress {
  /** At least one; several are the nodes of one cluster, in order of preference. */
  readonly hosts: readonly MysqlHost[];
  /** A Unix socket in place of the host. */
  readonly socketPath: string | undefined;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  /** Undefined: connections are not encrypted. */
  readonly tls: MysqlTls | undefined;
}

/** How connections are encrypted. The server's certificate is always verified. */
export interface MysqlTls {
  /** Whether the certificate must be for the host of the address, and not only from a trusted authority. */
  readonly verifiesHost: boolean;
  /** PEM file of the authority; undefined: the authorities of the system. */
  readonly ca: string | undefined;
  /** PEM files of a client certificate. */
  readonly client: { readonly cert: string; readonly key: string } | undefined;
}

/** Maximum number of hosts in one address; clusters have three, five or seven nodes. */
export const hostsMax = 9;

const defaultPort = 3306;
const parameterNames = ['socketPath', 'ssl-mode', 'ssl-ca', 'ssl-cert', 'ssl-key'] as const;
const wanted = 'mysql://user:password@host:port/schema, or with several hosts mysql://user:password@host1:port,host2:port/schema';

/**
 * Parses mysql://user:password@host:port,host:port/schema?ssl-mode=VERIFY_IDENTITY&ssl-ca=/path, or with ?socketPath=/path . Raises
 * invalid_request, also for any other parameter, without quoting anything that may be secret.
 */
export function parseMysqlUrl(url: string): MysqlAddress {
  const parts = /^mysql:\/\/(?:([^/?#]*)@)?([^/?#@]+)(.*)$/s.exec(url);
  if (parts === null) throw new AppError('invalid_request', `A MySQL address is ${wanted}.`);
  const [, login = '', names = '', rest = ''] = parts;
  const hosts = names.split(',').map(parseHost);
  if (hosts.length > hostsMax) throw new AppError('invalid_request', `A MySQL address names at most ${hostsMax} hosts.`);
  const parsed = parseWhole(`mysql://${login === '' ? '' : `${login}@`}host${rest}`);
  refuseParameters(parsed, rest);
  // After a password with an unescaped "/" or "#" these would be parts of it.
  if (parsed.pathname.includes('@') || parsed.hash !== '') throw badPassword();
  const socketPath = parsed.searchParams.get('socketPath') ?? undefined;
  if (socketPath !== undefined && hosts.length > 1)
    throw new AppError('invalid_request', 'A MySQL address with a socketPath must name exactly one host.');
  return {
    hosts,
    socketPath,
    user: decoded(parsed.username),
    password: decoded(parsed.password),
    database: decoded(parsed.pathname.slice(1)),
    tls: parseTls(parsed.searchParams, hosts),
  };
}

/** Returns the url. Throws an Error whose message completes "NAME …" when `parseMysqlUrl` raises. */
export function mysqlUrl(url: string): string {
  try {
    parseMysqlUrl(url);
  } catch (error) {
    throw new Error(`is not valid: ${(error as Error).message}`, { cause: error });
  }
  return url;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw badPassword();
  }
}

function badPassword(): AppError {
  return new AppError(
    'invalid_request',
    'In the password of a MySQL address, "%" is written %25, "/" is written %2F, and "#" is written %23.',
  );
}

// Reject parameters that would have no effect.
function refuseParameters({ searchParams }: URL, rest: string): void {
  const unknown = [...searchParams.keys()].filter((name) => !(parameterNames as readonly string[]).includes(name));
  if (unknown.length === 0) return;
  // After a password with an unescaped "?" these would be parts of it.
  const areNames = !rest.includes('@') && unknown.every((name) => /^[\w.-]+$/.test(name));
  const refused = areNames ? `the parameter ${unknown.join(', ')}` : 'such a parameter (a "?" in a password is written %3F)';
  throw new AppError('invalid_request', `A MySQL address cannot have ${refused}: it may have ${parameterNames.join(', ')}.`);
}

function parseTls(parameters: URLSearchParams, hosts: readonly MysqlHost[]): MysqlTls | undefined {
  const read = (name: (typeof parameterNames)[number]): string | undefined => parameters.get(name) ?? undefined;
  const [ca, cert, key] = [read('ssl-ca'), read('ssl-cert'), read('ssl-key')];
  const isGiven = ca !== undefined || cert !== undefined || key !== undefined;
  const mode = read('ssl-mode') ?? (isGiven ? 'VERIFY_IDENTITY' : 'DISABLED');
  if (!['VERIFY_IDENTITY', 'VERIFY_CA', 'DISABLED'].includes(mode)) {
    throw new AppError(
      'invalid_request',
      'The ssl-mode of a MySQL address is VERIFY_IDENTITY, VERIFY_CA (any host name) or DISABLED: encryption without verification does not protect against anyone who can change the traffic.',
    );
  }
  if (mode === 'DISABLED') {
    if (isGiven) throw new AppError('invalid_request', 'A MySQL address with ssl-mode=DISABLED cannot have ssl-ca, ssl-cert or ssl-key.');
    return undefined;
  }
  if (read('socketPath') !== undefined)
    throw new AppError('invalid_request', 'A MySQL address with a socketPath cannot have ssl-mode or ssl-ca.');
  // The driver would compare the certificate of an IP address with "localhost" (mysql2 3.24, lib/base/connection.js).
  if (mode === 'VERIFY_IDENTITY' && hosts.some(({ host }) => isIP(host) !== 0)) {
    throw new AppError(
      'invalid_request',
      'A MySQL address with ssl-mode=VERIFY_IDENTITY needs host names in place of IP addresses, or ssl-mode=VERIFY_CA.',
    );
  }
  if ((cert === undefined) !== (key === undefined))
    throw new AppError('invalid_request', 'A MySQL address must have both ssl-cert and ssl-key, or neither.');
  return { verifiesHost: mode === 'VERIFY_IDENTITY', ca, client: cert === undefined ? undefined : { cert, key: key! } };
}

function parseHost(text: string): MysqlHost {
  if (text === '') throw new AppError('invalid_request', `A host is missing: a MySQL address is ${wanted}.`);
  const { hostname, port } = parseWhole(`mysql://${text}/`);
  // The brackets around an IPv6 address belong to the url, not to the address.
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: port === '' ? defaultPort : Number(port) };
}

function parseWhole(url: string): URL {
  try {
    return new URL(url);
  } catch {
    throw new AppError('invalid_request', `A MySQL address is ${wanted}.`);
  }
}
