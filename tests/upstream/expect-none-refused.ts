// The assertion that makes the stub's strictness count.
import { expect } from '@jest/globals';
import type { StubUpstream } from './stub-upstream.js';

/** Asserts that the vendor would have refused none of the requests since it was last asked; for `afterEach`. */
export function expectNoneRefused(stub: StubUpstream): void {
  expect(stub.takeRefused().map(({ message, body }) => ({ message, body }))).toEqual([]);
}
