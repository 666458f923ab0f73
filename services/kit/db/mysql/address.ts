// The address of a MySQL database, which may name several hosts. Pure.
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
}

/** Maximum number of hosts in one address; clusters have three, five or seven nodes. */
export const hostsMax = 9;

const defaultPort = 3306;
const wanted = 'mysql://user:password@host:port/schema, or with several hosts mysql://user:password@host1:port,host2:port/schema';

/**
 * Parses mysql://user:password@host:port,host:port/schema?socketPath=… . Raises invalid_request, also for any other
 * parameter, without quoting anything that may be secret.
 */
export function parseMysqlUrl(url: string): MysqlAddress {
  const parts = /^mysql:\/\/(?:([^/?#]*)@)?([^/?#@]+)(.*)$/s.exec(url);
  if (parts === null) throw new AppError('invalid_request', `A MySQL address is ${wanted}.`);
  const [, login = '', names = '', rest = ''] = parts;
  const hosts = names.split(',').map(parseHost);
  if (hosts.length > hostsMax) throw new AppError('invalid_request', `A MySQL address names at most ${hostsMax} hosts.`);
  const parsed = parseWhole(`mysql://${login === '' ? '' : `${login}@`}host${rest}`);
  refuseParameters(parsed, rest);
  const socketPath = parsed.searchParams.get('socketPath') ?? undefined;
  if (socketPath !== undefined && hosts.length > 1)
    throw new AppError('invalid_request', 'A MySQL address with a socketPath names one host.');
  return {
    hosts,
    socketPath,
    user: decodeURIComponent(parsed.username),
    password: decodeURIComponent(parsed.password),
    database: decodeURIComponent(parsed.pathname.slice(1)),
  };
}

// Reject parameters that would have no effect, above all those that ask for encryption.
function refuseParameters({ searchParams }: URL, rest: string): void {
  const unknown = [...searchParams.keys()].filter((name) => name !== 'socketPath');
  if (unknown.length === 0) return;
  // After a password with an unescaped "?" these would be parts of it.
  const areNames = !rest.includes('@') && unknown.every((name) => /^[\w.-]+$/.test(name));
  const refused = areNames ? `the parameter ${unknown.join(', ')}` : 'such a parameter (a "?" in a password is written %3F)';
  throw new AppError('invalid_request', `A MySQL address cannot have ${refused}: socketPath is the only one.`);
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
