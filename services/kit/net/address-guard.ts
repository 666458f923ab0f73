// Decides which network addresses a process may connect to when a user or an operator chose the name. It checks the resolved addresses whenever a
// connection is opened, so that a name that resolves differently the second time (DNS rebinding) is caught.
import { lookup as dnsLookup, type LookupAddress } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';

/** A connection that was refused because of its destination. Its message is for operators. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused';
}

const never = blockList([
  // "This host" and unspecified (RFC 1122, RFC 4291).
  ['0.0.0.0', 8],
  ['::', 128],
  // Link-local, where clouds keep their metadata services.
  ['169.254.0.0', 16],
  ['fe80::', 10],
  // Metadata and credential services outside link-local: AWS over IPv6, Google, Alibaba, Oracle, Scaleway, Akamai, Azure.
  ['fd00:ec2::', 32],
  ['fd20:ce::254', 128],
  ['100.100.100.200', 32],
  ['fd00:100::100:200', 128],
  ['192.0.0.192', 32],
  ['fd00:c1::a9fe:a9fe', 128],
  ['fd00:42::42', 128],
  ['fd00:a9fe:a9fe::1', 128],
  ['168.63.129.16', 32],
  // Multicast, reserved, broadcast.
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
  ['ff00::', 8],
  // Tunnels and translators that embed an IPv4 address: 6to4 and its relays (RFC 7526), Teredo, NAT64 within a network (RFC 8215), and SIIT (RFC 2765).
  ['2002::', 16],
  ['192.88.99.0', 24],
  ['2001::', 32],
  ['64:ff9b:1::', 48],
  ['::ffff:0:0:0', 96],
]);
// The deprecated IPv4-compatible addresses (RFC 4291), without "::1".
never.addRange('::2', '::ffff:ffff', 'ipv6');

const privateOnly = blockList([
  ['127.0.0.0', 8],
  ['::1', 128],
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  // Carrier-grade NAT, protocol assignments, benchmarks.
  ['100.64.0.0', 10],
  ['192.0.0.0', 24],
  ['198.18.0.0', 15],
  // Unique local, and the deprecated site-local.
  ['fc00::', 7],
  ['fec0::', 10],
]);

function blockList(subnets: readonly (readonly [string, number])[]): BlockList {
  const list = new BlockList();
  for (const [address, prefix] of subnets) list.addSubnet(address, prefix, isIP(address) === 6 ? 'ipv6' : 'ipv4');
  return list;
}

/** Returns why an IP address may not be connected to; undefined when it may. */
export function addressFault(address: string, allowPrivateNetwork: boolean): string | undefined {
  const plain = embeddedIpv4(address) ?? address;
  const family = isIP(plain) === 6 ? 'ipv6' : 'ipv4';
  if (never.check(plain, family)) return `${address} is link-local, multicast or reserved, and connections to it are never allowed`;
  if (!allowPrivateNetwork && privateOnly.check(plain, family)) return `${address} is private, and private addresses are not allowed`;
  return undefined;
}

/** Returns the IPv4 address inside an IPv4-mapped (RFC 4291) or NAT64 (RFC 6052) address. */
function embeddedIpv4(address: string): string | undefined {
  if (isIP(address) !== 6) return undefined;
  // The URL parser converts every spelling of an address to one form.
  const canonical = new URL(`http://[${address.replace(/%.*$/, '')}]`).hostname.slice(1, -1);
  const match = /^(?:::ffff:|64:ff9b::)(?:([0-9a-f]{1,4}):)?([0-9a-f]{1,4})$/.exec(canonical);
  if (match === null) return undefined;
  const [high, low] = [Number.parseInt(match[1] ?? '0', 16), Number.parseInt(match[2]!, 16)];
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

/** Resolves a name as node:dns does; replaceable in tests. */
export type Resolve = (
  hostname: string,
  options: { all: true; family?: number | 'IPv4' | 'IPv6' },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** Returns a lookup for net.connect that fails when any of a name's addresses is not allowed. */
export function guardedLookup(allowPrivateNetwork: boolean, resolve: Resolve = dnsLookup): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, '', 0);
      const fault = addresses.map(({ address }) => addressFault(address, allowPrivateNetwork)).find((text) => text !== undefined);
      if (fault !== undefined) return callback(new AddressRefused(`${hostname}: ${fault}`), '', 0);
      const [first] = addresses;
      if (options.all === true) callback(null, addresses);
      else callback(null, first?.address ?? '', first?.family ?? 0);
    });
  };
}

/** Returns a connector for undici that connects only to permitted addresses. */
export function guardedConnector(options: {
  allowPrivateNetwork: boolean;
  timeoutMs: number;
  resolve?: Resolve;
}): buildConnector.connector {
  const connect = buildConnector({
    timeout: options.timeoutMs,
    // One connection carries one request, so that ending a request ends its connection.
    allowH2: false,
    lookup: guardedLookup(options.allowPrivateNetwork, options.resolve),
  } as buildConnector.BuildOptions);
  return (target, callback) => {
    // A literal address is connected to without a lookup.
    const literal = target.hostname.replace(/^\[|\]$/g, '');
    const fault = isIP(literal) === 0 ? undefined : addressFault(literal, options.allowPrivateNetwork);
    if (fault === undefined) connect(target, callback);
    else callback(new AddressRefused(fault), null);
  };
}
