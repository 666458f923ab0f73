// How often property tests try, unless they say so themselves: TOLLGATE_TEST_RUNS for the fast loop, else as many times as fast-check does.
import fc from 'fast-check';

const runs = Number(process.env['TOLLGATE_TEST_RUNS'] ?? '');
if (runs > 0) fc.configureGlobal({ numRuns: runs });
