import { expect, it } from '@jest/globals';
import { gatewayThreadsDefault } from './gateway-threads.js';

it('serves HTTP in threads from four cores on, where the system distributes connections over them', () => {
  expect([1, 2, 3, 4, 5, 16].map((cores) => gatewayThreadsDefault(cores, 'linux'))).toEqual([0, 0, 0, 3, 4, 4]);
  expect(gatewayThreadsDefault(16, 'darwin')).toBe(0);
});
