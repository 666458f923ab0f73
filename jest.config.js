// Jest runs the TypeScript sources as ES modules through swc, with the same import names as the build.
const shared = {
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: { parser: { syntax: 'typescript' }, target: 'es2023', experimental: { keepImportAttributes: true } },
        module: { type: 'es6' },
        sourceMaps: 'inline',
      },
    ],
  },
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: {
    '^#kit/(.*)\\.js$': '<rootDir>/services/kit/$1.ts',
    '^#client/(.*)\\.js$': '<rootDir>/proto/client/$1.ts',
    '^#google/(.*)\\.js$': '<rootDir>/proto/gen/google/$1.ts',
    '^#rules/(.*)\\.js$': '<rootDir>/proto/rules/$1.ts',
    '^#proto/(.*)\\.js$': '<rootDir>/proto/gen/tollgate/$1.ts',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
  modulePathIgnorePatterns: ['<rootDir>/dist[./]', '<rootDir>/data/', '<rootDir>/.toolchain/'],
  testEnvironment: 'node',
};

// What only a server can do is tested in files of this name. On SQLite alone there is no test in them, which Jest takes for a fault.
const needServer = '\\.mysql\\.test\\.ts$';
const { TOLLGATE_TEST_MYSQL: withServer, TOLLGATE_TEST_MYSQL_URL: serverUrl } = process.env;

export default {
  testSequencer: '<rootDir>/tests/support/sequencer.ts',
  projects: [
    {
      ...shared,
      displayName: 'unit',
      runner: '<rootDir>/tests/support/runner/runner.ts',
      // Beside the code they test; on SQLite, and on MySQL too with TOLLGATE_TEST_MYSQL=1 (a private server, started and ended with
      // the run) or with TOLLGATE_TEST_MYSQL_URL (a server that runs already).
      globalSetup: '<rootDir>/tests/support/mariadb-setup.ts',
      globalTeardown: '<rootDir>/tests/support/mariadb-teardown.ts',
      setupFilesAfterEnv: ['<rootDir>/tests/support/property-runs.ts'],
      // What two parts make together, by their pure functions, is in tests/translation.
      testMatch: [
        '<rootDir>/{proto,services,gateway,cli,deploy,console}/**/*.test.ts',
        '<rootDir>/tests/{translation,support}/**/*.test.ts',
      ],
      testPathIgnorePatterns: withServer === '1' || serverUrl !== undefined ? [] : [needServer],
    },
    {
      ...shared,
      displayName: 'e2e',
      // By behaviour, against whole gateways in processes of their own.
      testMatch: ['<rootDir>/tests/**/*.test.ts'],
      testPathIgnorePatterns: ['<rootDir>/tests/(translation|support)/'],
      setupFilesAfterEnv: ['<rootDir>/tests/support/timeouts.ts'],
    },
  ],
};
