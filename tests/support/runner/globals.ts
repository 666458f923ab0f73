// Provides what test files import as `@jest/globals`.
import { jestExpect } from '@jest/expect';
import * as circus from 'jest-circus';
import { ModuleMocker } from 'jest-mock';

export const { describe, it, test, beforeAll, beforeEach, afterAll, afterEach } = circus;
export const expect = jestExpect;

const mocker = new ModuleMocker(globalThis);

/** The part of the `jest` object that tests use. */
export const jest = {
  fn: mocker.fn.bind(mocker),
  spyOn: mocker.spyOn.bind(mocker),
  restoreAllMocks: mocker.restoreAllMocks.bind(mocker),
  setTimeout(timeoutMs: number) {
    circus.getState().testTimeout = timeoutMs;
  },
};
