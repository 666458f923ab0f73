import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Pool } from 'undici';
import { close, listen } from '../testing/local-server.js';
import { addressFault, guardedConnector, type Resolve } from './address-guard.js';

describe('an address', () => {
  it.each(['8.8.8.8', '172.32.0.1', '100.128.0.1', '2606:4700::1111', '::ffff:8.8.8.8', '64:ff9b::808:808'])(
    'that is public is allowed: %s',
    (address) => {
      expect(addressFault(address, false)).toBeUndefined();
    },
  );

  it.each([
    '127.0.0.1',
    '127.8.8.8',
    '10.1.2.3',
    '172.16.0.1',
    '192.168.1.1',
    '100.64.0.1',
    '198.18.0.1',
    '::1',
    'fd12::1',
    'fec0::1',
    '::ffff:10.0.0.1',
    '::ffff:7f00:1',
    '64:ff9b::a00:1',
  ])('that is private is allowed only with permission: %s', (address) => {
    expect(addressFault(address, false)).toContain('private');
    expect(addressFault(address, true)).toBeUndefined();
  });

  it.each([
    '0.0.0.0',
    '0.1.2.3',
    '169.254.169.254',
    '::ffff:169.254.169.254',
    '64:ff9b::a9fe:a9fe',
    'fe80::1',
    'fe80::1%eth0',
    'fd00:ec2::254',
    'fd00:ec2::23',
    'fd20:ce::254',
    'fd00:100::100:200',
    'fd00:c1::a9fe:a9fe',
    'fd00:42::42',
    'fd00:a9fe:a9fe::1',
    '100.100.100.200',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    'ff02::1',
    '2002:a9fe:a9fe::1',
    '64:ff9b:1::a9fe:a9fe',
    '::127.0.0.1',
    '::2',
    '::ffff:0:127.0.0.1',
    '192.88.99.1',
    '168.63.129.16',
  ])('that is link-local, metadata, multicast or reserved is never allowed: %s', (address) => {
    expect(addressFault(address, true)).toContain('never');
  });
});

describe('a connection', () => {
  let server: Server;
  let port: number;
  let served = 0;

  beforeAll(async () => {
    server = createServer((_request, response) => {
      served += 1;
      response.end('ok');
    });
    port = await listen(server);
  });

  afterAll(() => close(server));

  async function get(host: string, allowPrivateNetwork: boolean, addresses: { address: string; family: number }[] = []): Promise<string> {
    const resolve: Resolve = (_hostname, _options, callback) => callback(null, addresses);
    const pool = new Pool(`http://${host}:${port}`, { connect: guardedConnector({ allowPrivateNetwork, timeoutMs: 1000, resolve }) });
    try {
      return await (await pool.request({ path: '/', method: 'GET' })).body.text();
    } finally {
      await pool.close();
    }
  }

  const local = [{ address: '127.0.0.1', family: 4 }];

  it('to a literal private address needs permission', async () => {
    await expect(get('127.0.0.1', false)).rejects.toMatchObject({ name: 'AddressRefused' });
    expect(served).toBe(0);
    expect(await get('127.0.0.1', true)).toBe('ok');
  });

  it('to a name is checked by the address that the name resolves to at that moment', async () => {
    const servedBefore = served;
    await expect(get('api.example.com', false, local)).rejects.toMatchObject({ name: 'AddressRefused' });
    await expect(get('api.example.com', true, [{ address: '169.254.169.254', family: 4 }])).rejects.toMatchObject({
      name: 'AddressRefused',
    });
    expect(served).toBe(servedBefore);
    expect(await get('api.example.com', true, local)).toBe('ok');
  });

  it('is refused when any one of several addresses is not allowed', async () => {
    await expect(get('api.example.com', false, [{ address: '8.8.8.8', family: 4 }, ...local])).rejects.toMatchObject({
      name: 'AddressRefused',
    });
  });
});
