import { expect, it } from '@jest/globals';
import { reachable } from './reachable.js';

it.each([
  ['http://127.0.0.1:8080', 'http://127.0.0.1:8080'],
  ['http://0.0.0.0:80', 'http://127.0.0.1:80'],
  ['http://[::]:8080', 'http://127.0.0.1:8080'],
  ['http://[::1]:8080', 'http://[::1]:8080'],
])('a gateway that listens at %s is reached at %s', (address, expected) => {
  expect(reachable(address)).toBe(expected);
});
