// Breaks each guard of the money path in turn. A test of the guard has to fail each time, otherwise the guard is not tested.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { type Mutant, mutants } from './mutants.js';

/** How many mutants are run: by default a few, drawn at random, and all of them with TOLLGATE_TEST_MUTANTS=all. */
const wanted = process.env['TOLLGATE_TEST_MUTANTS'] ?? '2';
const seed = Number(process.env['TOLLGATE_TEST_SEED'] ?? Date.now() % 1_000_000);
const timeoutMs = 180_000;

const drawn = wanted === 'all' ? mutants : pick(Number(wanted));

function pick(count: number): Mutant[] {
  const first = seed % mutants.length;
  const step = Math.floor(mutants.length / count);
  return Array.from({ length: count }, (_, index) => mutants[(first + index * step) % mutants.length]!);
}

/** Runs tests with a mutant, or with the unchanged sources. Returns whether all pass. */
async function passes(tests: readonly string[], mutant: Mutant | undefined): Promise<{ passed: boolean; output: string }> {
  const args = [
    'node_modules/jest/bin/jest.js',
    '--config',
    'tests/mutation/jest.config.js',
    '--bail',
    '--silent',
    '--runInBand',
    '--runTestsByPath',
    ...tests,
  ];
  const { TOLLGATE_TEST_MYSQL: _, TOLLGATE_TEST_MYSQL_URL: __, ...environment } = process.env;
  const env = { ...environment, ...(mutant === undefined ? {} : { TOLLGATE_MUTANT: JSON.stringify(mutant) }) };
  return new Promise((resolve) => {
    execFile(process.execPath, args, { env, timeout: timeoutMs, maxBuffer: 2 ** 26 }, (error, stdout, stderr) =>
      resolve({ passed: error === null, output: stdout + stderr }),
    );
  });
}

describe('the guards of the money path', () => {
  it('have unique names within their files', () => {
    expect(new Set(mutants.map(({ file, name }) => `${file}: ${name}`)).size).toBe(mutants.length);
  });

  it.each(mutants)('are found in their file: $file, $name', ({ file, from }) => {
    expect(readFileSync(file, 'utf8').split(from)).toHaveLength(2);
  });

  it(
    'pass their tests without a mutant',
    async () => {
      const { passed, output } = await passes([...new Set(drawn.flatMap(({ tests }) => tests))], undefined);
      expect(passed ? '' : output).toBe('');
    },
    timeoutMs,
  );

  it.each(drawn)(
    'fail their tests with a mutant: $file, $name',
    async (mutant) => {
      const { passed, output } = await passes(mutant.tests, mutant);
      // A mutant that cannot be compiled or found would fail as well.
      expect(passed ? 'it survived' : output).toContain('●');
    },
    timeoutMs,
  );
});
