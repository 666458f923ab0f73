import { expect, it } from '@jest/globals';
import { type CallsInFlight, callsInFlightMemory, clearCallsInFlight, localCallsInFlight, sharedCallsInFlight } from './calls-in-flight.js';

const begin = (calls: CallsInFlight | undefined, ...ids: string[]): void => ids.forEach((id) => calls!.count(id, 1));

it('counts the calls of each upstream in one thread', () => {
  const calls = localCallsInFlight();
  begin(calls, 'a', 'a', 'b');
  calls.count('a', -1);
  calls.count('b', -1);
  expect([calls.of('a'), calls.of('b'), calls.of('c')]).toEqual([1, 0, 0]);
});

it('counts over all threads, without those that have ended', () => {
  const memory = callsInFlightMemory(3);
  const [one, two, three] = [1, 2, 3].map((thread) => sharedCallsInFlight(memory, thread));
  begin(one, 'a');
  begin(two, 'a', 'b');
  begin(three, 'b');
  expect([three!.of('a'), one!.of('b')]).toEqual([2, 2]);
  clearCallsInFlight(memory, 2);
  expect([three!.of('a'), one!.of('b')]).toEqual([1, 1]);
});
