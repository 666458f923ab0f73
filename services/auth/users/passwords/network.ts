// The network that counts as one client when attempts are limited. Pure.
import { isIPv6 } from 'node:net';

const hextetsOfNetwork = 4;

/**
 * Returns an IPv4 address unchanged, and an IPv6 address as its /64: one household gets at least a /64 (RFC 6177), so a client could
 * otherwise use a new address for each attempt. An IPv4-mapped IPv6 address is returned as IPv4.
 */
export function networkOf(address: string): string {
  const inner = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (inner !== undefined) return inner;
  const [bare = ''] = address.split('%');
  if (!isIPv6(bare)) return address;
  // Normalised as in a URL: in lower case, without leading zeros, IPv4 parts as hextets.
  const [head = '', tail] = new URL(`http://[${bare}]`).hostname.slice(1, -1).split('::');
  const hextets = (text: string | undefined): string[] => (text === undefined || text === '' ? [] : text.split(':'));
  const known = [hextets(head), hextets(tail)] as const;
  const zeros = Array.from({ length: 8 - known[0].length - known[1].length }, () => '0');
  return `${[...known[0], ...zeros, ...known[1]].slice(0, hextetsOfNetwork).join(':')}::/64`;
}
