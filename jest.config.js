import { changedFiles, slowExceptBeside } from './tests/support/jest/quick.ts';
import { useMemory } from './tests/support/jest/temporary-folder.ts';

useMemory();

// Tests run from the TypeScript sources, in processes that load each module once (tests/support/runner).
const shared = {
  runner: '<rootDir>/tests/support/runner/runner.ts',
  // Jest itself loads only the runner and what sets a run up, which Node reads as they are.
  transform: {},
  modulePathIgnorePatterns: ['<rootDir>/dist[./]', '<rootDir>/data/', '<rootDir>/.toolchain/'],
};

// What only a server can do is tested in files of this name. On SQLite alone there is no test in them, which Jest takes for a fault.
const needServer = '\\.mysql\\.test\\.ts$';
const {
  TOLLGATE_TEST_MYSQL: withServer,
  TOLLGATE_TEST_MYSQL_URL: serverUrl,
  TOLLGATE_TEST_MODES: modes,
  // Set by `make check`.
  TOLLGATE_TEST_QUICK: isQuick,
} = process.env;

// What only several processes can do; left out of a run that TOLLGATE_TEST_MODES limits to single mode.
const needProcesses = '\\.distributed\\.test\\.ts$';

// What only the long forms install: `make nightly` sets TOLLGATE_TEST_JAEGER and TOLLGATE_TEST_COLLECTOR.
const needJaeger = 'jaeger\\.distributed\\.test\\.ts$';
const needCollector = 'operations/collector\\.test\\.ts$';
// Take minutes.
const pauses = 'kill/pauses\\.test\\.ts$';
const long = '-long\\.distributed\\.test\\.ts$';

export default {
  testSequencer: '<rootDir>/tests/support/jest/sequencer.ts',
  projects: [
    {
      ...shared,
      displayName: 'unit',
      // Beside the code they test; on SQLite, and on MySQL too with TOLLGATE_TEST_MYSQL=1 (a private server, started and ended with
      // the run) or with TOLLGATE_TEST_MYSQL_URL (a server that runs already).
      globalSetup: '<rootDir>/tests/support/jest/mariadb-setup.ts',
      globalTeardown: '<rootDir>/tests/support/jest/mariadb-teardown.ts',
      setupFilesAfterEnv: ['<rootDir>/tests/support/jest/property-runs.ts'],
      // What two parts make together, by their pure functions, is in tests/translation.
      testMatch: [
        '<rootDir>/{proto,services,gateway,cli,deploy,console,bench}/**/*.test.ts',
        '<rootDir>/tests/{translation,support,mutation}/**/*.test.ts',
      ],
      testPathIgnorePatterns: [
        ...(withServer === '1' || serverUrl !== undefined ? [] : [needServer]),
        ...(isQuick === '1' ? slowExceptBeside(changedFiles()) : []),
      ],
    },
    {
      ...shared,
      displayName: 'e2e',
      // By behaviour, against whole gateways in processes of their own.
      testMatch: ['<rootDir>/tests/**/*.test.ts'],
      testPathIgnorePatterns: [
        '<rootDir>/tests/(translation|support|mutation)/',
        ...(process.env['TOLLGATE_TEST_JAEGER'] === '1' ? [] : [needJaeger]),
        ...(process.env['TOLLGATE_TEST_COLLECTOR'] === '1' ? [] : [needCollector]),
        ...(process.env['TOLLGATE_TEST_ROLLOUTS'] === undefined ? [long] : []),
        ...(process.env['TOLLGATE_TEST_PAUSES'] === undefined ? [pauses] : []),
        ...(process.env['TOLLGATE_TEST_CHART'] === '1' ? [] : ['<rootDir>/tests/kubernetes/']),
        ...(modes === undefined || modes.split(',').includes('distributed') ? [] : [needProcesses]),
      ],
      setupFilesAfterEnv: ['<rootDir>/tests/support/jest/timeouts.ts'],
    },
  ],
};
