// The assertion that fails tests whose requests the stub rejected.
import { expect } from '@jest/globals';
import type { StubUpstream } from './stub-upstream.js';

/** Asserts that the vendor would have accepted all requests since the last check; for `afterEach`. */
export function expectNoneRefused(stub: StubUpstream): void {
  expect(stub.takeRefused().map(({ message, body }) => ({ message, body }))).toEqual([]);
}
