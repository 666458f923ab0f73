import { describe, expect, it } from '@jest/globals';
import { addressSet, canonicalBlock } from './address-set.js';

describe('an address or a block', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    [' 198.51.100.0/24 ', '198.51.100.0/24'],
    ['0.0.0.0/0', '0.0.0.0/0'],
    ['2001:DB8:0:0::1', '2001:db8::1'],
    ['2001:db8::/032', '2001:db8::/32'],
    ['::/0', '::/0'],
    ['::ffff:192.0.2.7', '::ffff:c000:207'],
  ])('has one spelling: %s', (text, canonical) => expect(canonicalBlock(text)).toBe(canonical));

  it.each([
    '',
    'localhost',
    '192.0.2',
    '192.0.2.256',
    '010.0.0.1',
    '192.0.2.0/33',
    '192.0.2.0/-1',
    '192.0.2.0/',
    '::1/129',
    'fe80::1%eth0',
    '1:2',
  ])('is refused if it is malformed: "%s"', (text) => expect(canonicalBlock(text)).toBeUndefined());
});

describe('a set of addresses', () => {
  const contains = addressSet(['192.0.2.7', '198.51.100.0/24', '2001:db8::/32', '::ffff:cb00:7101']);
  it.each(['192.0.2.7', '198.51.100.255', '2001:db8:ffff::1', '::ffff:192.0.2.7', '::ffff:c633:6401', '203.0.113.1'])(
    'contains %s',
    (address) => expect(contains(address)).toBe(true),
  );
  it.each(['192.0.2.8', '198.51.101.0', '2001:db9::1', '::ffff:192.0.2.8', '::1', '', 'unknown', '192.0.2.7:443', '203.0.113.2'])(
    'does not contain %s',
    (address) => expect(contains(address)).toBe(false),
  );
  it('with all of IPv4 contains no IPv6 address that is not IPv4-mapped', () => {
    const all = addressSet(['0.0.0.0/0']);
    expect([all('8.8.8.8'), all('::ffff:8.8.8.8'), all('2001:db8::1')]).toEqual([true, true, false]);
  });
  it('contains a link-local address on any interface', () => expect(addressSet(['fe80::/10'])('fe80::1%eth0')).toBe(true));
});
