// Tests the runner, because every other test would be worthless if it lost a failure.
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Runner from './runner.js';

const rootDir = join(import.meta.dirname, '../../..');
let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'tollgate-test-'))));
afterEach(() => rmSync(folder, { recursive: true }));

/** Runs files one after the other, in one process as far as possible. Returns for each file the status of its tests, or why there are none. */
async function outcomes(files: Record<string, string>, testNamePattern = ''): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  const tests = Object.entries(files).map(([name, body]) => {
    const path = join(folder, `${name}.test.ts`);
    writeFileSync(path, `import { beforeAll, describe, expect, it, jest } from '@jest/globals';\n${body}\n`);
    return { path, name, context: { config: { rootDir, setupFilesAfterEnv: [], slowTestThreshold: 5 } } };
  });
  await new Runner({ maxWorkers: 1, testNamePattern, testTimeout: 5000 } as never).runTests(
    tests as never,
    { isInterrupted: () => false },
    async () => undefined,
    async (test, result) => {
      const statuses = Object.fromEntries(result.testResults.map(({ fullName, status }) => [fullName, status]));
      found[(test as unknown as { name: string }).name] =
        result.testExecError === undefined ? statuses : [statuses, result.testExecError.message];
    },
    async (test, error) => void (found[(test as unknown as { name: string }).name] = (error as Error).message),
  );
  return found;
}

it('reports each test of a file', async () => {
  const body = `
    describe('a block', () => {
      it('passes', () => expect(1).toBe(1));
      it('fails', () => expect([{ a: 1 }]).toEqual([{ a: 2 }]));
      it('hangs', () => new Promise(() => {}), 50);
      it.skip('is skipped', () => {});
      it.each([1, 2])('has %d', (n) => expect(n).toBe(1));
    });
    describe('a block whose setup fails', () => {
      beforeAll(() => { throw new Error('no'); });
      it('is not run', () => {});
    });`;
  expect(await outcomes({ one: body })).toEqual({
    one: {
      'a block passes': 'passed',
      'a block fails': 'failed',
      'a block hangs': 'failed',
      'a block is skipped': 'pending',
      'a block has 1': 'passed',
      'a block has 2': 'failed',
      'a block whose setup fails is not run': 'failed',
    },
  });
});

it('reports a file that cannot be loaded, exits its process or leaves an error behind, and runs the next', async () => {
  const found = await outcomes({
    missing: `import './missing.js'; it('is', () => {});`,
    thrown: `throw new Error('at the top');`,
    ended: `it('ends', () => process.exit(3));`,
    stray: `it('passes', async () => { void Promise.reject(new Error('nobody listens')); await new Promise((r) => setTimeout(r, 20)); });`,
    fine: `it('passes', () => {});`,
  });
  expect(found).toEqual({
    missing: expect.stringContaining('Cannot find module'),
    thrown: 'at the top',
    ended: 'The test process ended unexpectedly (code 3).',
    stray: [{ passes: 'passed' }, 'nobody listens'],
    fine: { passes: 'passed' },
  });
});

it('shares modules between files, but not the environment, time limits or registered tracers', async () => {
  const count = `const sharedCount = globalThis as { filesInProcess?: number }; sharedCount.filesInProcess = (sharedCount.filesInProcess ?? 0) + 1;`;
  expect(
    await outcomes({
      first: `${count} jest.setTimeout(10); it('sets', () => { process.env['TEST_LEFT'] = '1'; });`,
      second: `${count} it('is second', async () => {
        expect(sharedCount.filesInProcess).toBe(2);
        expect(process.env['TEST_LEFT']).toBeUndefined();
        await new Promise((resolve) => setTimeout(resolve, 50));
        Object.assign(globalThis, { [Symbol.for('opentelemetry.js.api.1')]: {} });
      });`,
      third: `${count} it('is first', () => expect(sharedCount.filesInProcess).toBe(1));`,
    }),
  ).toEqual({ first: { sets: 'passed' }, second: { 'is second': 'passed' }, third: { 'is first': 'passed' } });
});

it('runs only the tests that match a name', async () => {
  expect(await outcomes({ one: `it('this', () => {}); it('that', () => { throw new Error(); });` }, 'this')).toEqual({
    one: { this: 'passed', that: 'pending' },
  });
});
