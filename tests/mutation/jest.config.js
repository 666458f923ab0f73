// The unit tests over a mutant: one process, and nothing that they share with others.
import config from '../../jest.config.js';

const { transform, extensionsToTreatAsEsm, moduleNameMapper, modulePathIgnorePatterns, testEnvironment, setupFilesAfterEnv } =
  config.projects.find(({ displayName }) => displayName === 'unit');
const [[pattern, [, options]]] = Object.entries(transform);

export default {
  rootDir: '../..',
  transform: { [pattern]: ['<rootDir>/tests/mutation/transform.js', options] },
  extensionsToTreatAsEsm,
  moduleNameMapper,
  modulePathIgnorePatterns,
  testEnvironment,
  setupFilesAfterEnv,
};
