// Compiles sources as the other tests do, with the mutant of TOLLGATE_MUTANT put into its file. No source file is changed.
import swcJest from '@swc/jest';

const mutant = JSON.parse(process.env.TOLLGATE_MUTANT ?? 'null');
const mutated = (source, path) =>
  mutant !== null && path.endsWith(`/${mutant.file}`) ? source.replace(mutant.from, () => mutant.to) : source;

export default {
  createTransformer(options) {
    const inner = swcJest.createTransformer(options);
    return {
      getCacheKey: (source, path, settings) => inner.getCacheKey(mutated(source, path), path, settings),
      process: (source, path, settings) => inner.process(mutated(source, path), path, settings),
      processAsync: (source, path, settings) => inner.processAsync(mutated(source, path), path, settings),
    };
  },
};
