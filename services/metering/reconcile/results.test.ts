import { expect, it } from '@jest/globals';
import { Drift, DriftCheck } from '#proto/metering/v1/metering.js';
import { driftsMax, listed } from './results.js';

it('lists drifts of the books first, however many others there are', () => {
  const others = Array.from({ length: driftsMax + 1 }, (_, index) =>
    Drift.fromPartial({ check: DriftCheck.DRIFT_CHECK_CHARGE, callId: `req_${index}` }),
  );
  const books = Drift.fromPartial({ check: DriftCheck.DRIFT_CHECK_BOOKS, accountId: 'acct_1', subject: 'spent' });
  expect(listed([...others, books])).toEqual([books, ...others.slice(0, driftsMax - 1)]);
});
