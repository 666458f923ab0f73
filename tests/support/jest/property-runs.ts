// Sets how many runs property tests make by default: TOLLGATE_TEST_RUNS if set, for fast checks, otherwise fast-check's own default.
import fc from 'fast-check';

const runs = Number(process.env['TOLLGATE_TEST_RUNS'] ?? '');
if (runs > 0) fc.configureGlobal({ numRuns: runs });
