import { expect, it } from '@jest/globals';
import { replicasOf } from './replicas.js';

const names: Readonly<Record<string, string[]>> = { ledger: ['10.0.0.1', '10.0.0.2'], auth: ['10.0.0.3'], six: ['fd00::1', 'fd00::2'] };
const find = (target: string) => replicasOf(target, async (host) => names[host] ?? []);

it('finds every replica in a list, and behind a name that resolves to several', async () => {
  expect(await find('ipv4:10.0.0.1:7103,10.0.0.2:7104')).toEqual([{ address: '10.0.0.1:7103' }, { address: '10.0.0.2:7104' }]);
  const both = [
    { address: '10.0.0.1:7103', host: 'ledger' },
    { address: '10.0.0.2:7103', host: 'ledger' },
  ];
  expect(await find('dns:///ledger:7103')).toEqual(both);
  expect(await find('ledger:7103')).toEqual(both);
  expect(await find('six:7103')).toEqual([
    { address: '[fd00::1]:7103', host: 'six' },
    { address: '[fd00::2]:7103', host: 'six' },
  ]);
});

it('treats any other address as one replica', async () => {
  for (const target of ['auth:7101', 'unknown:7101', '127.0.0.1:7101', 'unix:/run/tollgate.sock'])
    expect(await find(target)).toEqual([{ address: target }]);
});
