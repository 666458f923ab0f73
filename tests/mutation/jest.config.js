// Runs unit tests with a mutant, which the loader of sources (../support/runner/typescript.ts) inserts into its file.
import config from '../../jest.config.js';

const { runner, transform, modulePathIgnorePatterns, setupFilesAfterEnv } = config.projects.find(
  ({ displayName }) => displayName === 'unit',
);

export default { rootDir: '../..', runner, transform, modulePathIgnorePatterns, setupFilesAfterEnv };
