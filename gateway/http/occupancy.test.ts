import { expect, it } from '@jest/globals';
import { clearOccupancy, localOccupancy, occupancyMemory, sharedOccupancy } from './occupancy.js';

it('counts the calls of an account and of all, and the connections, in one thread', () => {
  const occupancy = localOccupancy();
  occupancy.countCall('acct_a', 1);
  occupancy.countCall('acct_b', 1);
  occupancy.countCall('acct_a', -1);
  occupancy.countConnection(1);
  occupancy.countBody('acct_a', 7);
  occupancy.countBody('acct_b', 2);
  occupancy.countBody('acct_a', -4);
  expect([occupancy.bodyUnits(), occupancy.bodyUnitsOf('acct_a'), occupancy.bodyUnitsOf('acct_c')]).toEqual([5, 3, 0]);
  expect([occupancy.calls(), occupancy.callsOf('acct_a'), occupancy.callsOf('acct_b'), occupancy.connections()]).toEqual([1, 0, 1, 1]);
});

it('counts over all threads, without those that have ended', () => {
  const memory = occupancyMemory(3);
  const [one, two, three] = [1, 2, 3].map((thread) => sharedOccupancy(memory, thread));
  one!.countCall('acct_a', 1);
  two!.countCall('acct_a', 1);
  two!.countCall('acct_b', 1);
  three!.countConnection(1);
  one!.countBody('acct_a', 5);
  two!.countBody('acct_a', 3);
  expect([three!.bodyUnits(), three!.bodyUnitsOf('acct_a')]).toEqual([8, 8]);
  expect([three!.calls(), one!.callsOf('acct_a'), one!.callsOf('acct_b'), two!.connections()]).toEqual([3, 2, 1, 1]);
  clearOccupancy(memory, 2);
  expect([three!.bodyUnits(), three!.bodyUnitsOf('acct_a')]).toEqual([5, 5]);
  expect([three!.calls(), one!.callsOf('acct_a'), one!.callsOf('acct_b'), two!.connections()]).toEqual([1, 1, 0, 1]);
});
