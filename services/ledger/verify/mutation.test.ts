// Breaks each guard of the ledger in turn: the check that covers it must fail. A check that passes with every broken guard proves nothing.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { CheckName } from '../testing/mutation/checks.js';
import { mutants } from '../testing/mutation/mutants.js';
import { createWorkshop, type Workshop } from '../testing/mutation/workshop.js';

const checkNames: readonly CheckName[] = ['model', 'store', 'verify', 'requests'];
/** Far more than they take. Ends a check whose broken guard makes it run forever. */
const timeoutMs = 600_000;

let workshop: Workshop;
/** The result of each check, by name of the check or the mutant; undefined if nothing is wrong. */
const faults = new Map<string, string | undefined>();
/** Why a mutant cannot be created. */
const misfits = new Map<string, string>();

beforeAll(async () => {
  workshop = createWorkshop(process.cwd());
  const subjects = new Map<string, { name: string; folder: string; check: CheckName }>();
  for (const check of checkNames) subjects.set(check, { name: check, folder: workshop.sound, check });
  for (const mutant of mutants) {
    try {
      subjects.set(mutant.name, { name: mutant.name, folder: workshop.broken(mutant), check: mutant.seenBy });
    } catch (error) {
      misfits.set(mutant.name, (error as Error).message);
    }
  }
  const all = [...subjects.values()];
  const args = all.flatMap(({ folder, check }) => [folder, check]);
  const { stdout } = await promisify(execFile)(process.execPath, [workshop.program, ...args], { timeout: timeoutMs, maxBuffer: 2 ** 26 });
  const lines = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { fault?: string });
  all.forEach(({ name }, index) => faults.set(name, lines[index]!.fault));
}, timeoutMs);

afterAll(() => workshop.remove());

it.each(checkNames)('finds nothing wrong with the ledger as it is: %s', (name) => {
  expect(faults.get(name)).toBeUndefined();
});

it('gives every mutant a name of its own', () => {
  expect(new Set(mutants.map(({ name }) => name)).size).toBe(mutants.length);
});

it.each(mutants)('detects that $name ($file, $seenBy)', ({ name }) => {
  expect(misfits.get(name)).toBeUndefined();
  expect(faults.get(name)).toEqual(expect.any(String));
});
