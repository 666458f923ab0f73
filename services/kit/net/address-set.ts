// Sets of network addresses that users choose: single addresses and CIDR blocks, IPv4 and IPv6.
import { BlockList, isIP } from 'node:net';

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4');

/** Returns the canonical spelling of an address or a CIDR block, such as "192.0.2.7" or "2001:db8::/32"; undefined if it is neither. */
export function canonicalBlock(text: string): string | undefined {
  const [, address = '', prefix] = /^([\d.:a-f]{2,45})(?:\/(\d{1,3}))?$/i.exec(text.trim()) ?? [];
  const family = isIP(address);
  if (family === 0 || Number(prefix ?? 0) > (family === 6 ? 128 : 32)) return undefined;
  const canonical = family === 6 ? new URL(`http://[${address}]`).hostname.slice(1, -1) : address;
  return prefix === undefined ? canonical : `${canonical}/${Number(prefix)}`;
}

/** Returns a function that reports whether an address is in one of the blocks. An IPv4-mapped IPv6 address is in the blocks of its IPv4 address. */
export function addressSet(blocks: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const block of blocks) {
    const [address = '', prefix] = block.split('/');
    if (prefix === undefined) list.addAddress(address, familyOf(address));
    else list.addSubnet(address, Number(prefix), familyOf(address));
  }
  return (address) => {
    // The zone of a link-local address names an interface of this machine and is ignored.
    const bare = address.replace(/%.*$/, '');
    return isIP(bare) !== 0 && list.check(bare, familyOf(bare));
  };
}
