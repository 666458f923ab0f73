// Compiles the ledger into a separate folder, next to copies that each have one guard broken. The sources are never touched.
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { transformSync } from '@swc/core';
import type { Mutant } from './mutants.js';

/** Holds the folder and its contents. */
export interface Workshop {
  /** A program that checks ledgers, see program.ts. */
  readonly program: string;
  /** The unmodified ledger. */
  readonly sound: string;
  /** A copy of the ledger with this guard broken. */
  broken(mutant: Mutant): string;
  remove(): void;
}

/** Compiles everything that the checks need. `root` is the root of the checkout. */
export function createWorkshop(root: string): Workshop {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-mutants-'));
  const { type, imports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { type: string; imports: object };
  // The compiled files have the same layout as the sources.
  const here = JSON.stringify({ type, imports }).replaceAll('*.ts', '*.js');
  writeFileSync(join(folder, 'package.json'), here);
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const sources = globSync(['services/kit/**/*.ts', 'services/ledger/**/*.ts', 'proto/**/*.ts'], { cwd: root });
  for (const source of sources.filter((name) => !name.endsWith('.test.ts'))) {
    write(join(folder, source.replace(/\.ts$/, '.js')), compile(readFileSync(join(root, source), 'utf8')));
  }
  const sound = join(folder, 'services/ledger');
  let copies = 0;
  return {
    program: join(sound, 'testing/mutation/program.js'),
    sound,
    broken({ file, from, to }) {
      const source = readFileSync(join(root, 'services/ledger', file), 'utf8');
      const times = source.split(from).length - 1;
      if (times !== 1) throw new Error(`The text of this mutant occurs ${times} times in services/ledger/${file}, not once: ${from}`);
      copies += 1;
      const copy = join(folder, 'broken', String(copies));
      cpSync(sound, copy, { recursive: true });
      write(join(copy, file.replace(/\.ts$/, '.js')), compile(source.replace(from, () => to)));
      return copy;
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function compile(source: string): string {
  return transformSync(source, { jsc: { parser: { syntax: 'typescript' }, target: 'es2023' }, module: { type: 'es6' } }).code;
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
