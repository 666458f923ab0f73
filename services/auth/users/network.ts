// Who one network address stands for. Pure.
import { isIPv6 } from 'node:net';

const hextetsOfNetwork = 4;

/**
 * The address itself, and of IPv6 the /64 that it is of: that is what one household is given (RFC 6177), so that whoever has one could
 * otherwise come from a new address each time. An IPv4 address within IPv6 is told as IPv4.
 */
export function networkOf(address: string): string {
  const inner = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (inner !== undefined) return inner;
  const [bare = ''] = address.split('%');
  if (!isIPv6(bare)) return address;
  // As a URL has it: in lower case, without leading zeros, IPv4 parts as hextets.
  const [head = '', tail] = new URL(`http://[${bare}]`).hostname.slice(1, -1).split('::');
  const hextets = (text: string | undefined): string[] => (text === undefined || text === '' ? [] : text.split(':'));
  const known = [hextets(head), hextets(tail)] as const;
  const zeros = Array.from({ length: 8 - known[0].length - known[1].length }, () => '0');
  return `${[...known[0], ...zeros, ...known[1]].slice(0, hextetsOfNetwork).join(':')}::/64`;
}
