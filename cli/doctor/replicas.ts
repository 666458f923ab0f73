// The replicas behind the address of a service: the doctor queries each of them, while a client would be connected to any of them.
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';

/** One replica. */
export interface Replica {
  /** host:port or unix:/path, to dial. */
  readonly address: string;
  /** The name that its certificate must have; absent: that of its address. */
  readonly host?: string;
}

/** Returns the replicas of an address in grpc-js's target syntax: a list of IP addresses, a name with several, or one. */
export async function replicasOf(target: string, addressesOf = resolved): Promise<readonly Replica[]> {
  const list = /^ipv[46]:(.+)$/.exec(target)?.[1];
  if (list !== undefined) return list.split(',').map((address) => ({ address }));
  const named = /^(?:dns:(?:\/\/[^/]*\/)?)?([^/:[\]]+):(\d+)$/.exec(target);
  if (named === null) return [{ address: target }];
  const [, host, port] = named as unknown as [string, string, string];
  const addresses = isIP(host) === 0 ? await addressesOf(host) : [];
  if (addresses.length < 2) return [{ address: target }];
  return addresses.map((address) => ({ address: address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`, host }));
}

/** Returns the addresses of a name, of one family where it has both: the same replica has an address of each. */
async function resolved(host: string): Promise<string[]> {
  const found = await lookup(host, { all: true }).catch(() => []);
  return found.filter(({ family }) => family === found[0]!.family).map(({ address }) => address);
}
