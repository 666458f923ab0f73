// Ties tests to the outcome table in the README: each row is tested, and each tested row is in the table.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from '@jest/globals';
import { apply } from '../operations/apply.js';
import type { Applied, Operation, Touched } from '../books/model.js';
import { nowMs } from './records.js';

/**
 * Returns the function that tests a row of the table; a row may have several tests. When the tests of the file are finished, the rows
 * whose code begins with one of the letters must be exactly those that were tested.
 */
export function outcomeRows(letters: string): (code: string, title: string, test: () => void) => void {
  const tested = new Set<string>();
  afterAll(() => {
    const readme = readFileSync(join(process.cwd(), 'services/ledger/README.md'), 'utf8');
    const rows = [...readme.matchAll(/^\| ([A-Z]\d+) \|/gm)].map((match) => match[1]!);
    expect([...tested].sort()).toEqual(rows.filter((code) => letters.includes(code[0]!)).sort());
  });
  return (code, title, test) => {
    tested.add(code);
    it(`${code}: ${title}`, test);
  };
}

/** Returns the reply of an operation that was not refused. */
export function replyOf<R>(applied: Applied<R>): R {
  if (applied.refusal !== undefined) throw applied.refusal;
  return applied.reply;
}

/** Applies an operation that must be refused for this reason, without moving money. */
export function expectRefused(rows: Touched, operation: Operation, reason: string): Applied<unknown> {
  const applied = apply(rows, operation, nowMs);
  expect(applied.refusal?.reason).toBe(reason);
  expect(applied.changes.entries ?? []).toEqual([]);
  expect(applied.changes.account).toBeUndefined();
  expect(applied.changes.hold).toBeUndefined();
  return applied;
}

/** Returns the kind and amount of each entry that was written. */
export function entriesOf(applied: Applied<unknown>): [number, bigint][] {
  return (applied.changes.entries ?? []).map((entry) => [entry.kind, entry.amountNanoUsd]);
}
