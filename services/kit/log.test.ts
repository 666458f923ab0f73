import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { createLogger } from './log.js';

it('writes an error without the statement and the values that a driver adds to it', () => {
  const lines: string[] = [];
  const log = createLogger({ name: 'test', level: 'info' }, { write: (line) => void lines.push(line) });
  const text = "INSERT INTO stored_answer VALUES ('what a customer wrote')";
  const cause = Object.assign(new Error('The table is full'), {
    code: 'ER_RECORD_FILE_FULL',
    errno: 1114,
    sql: text,
    sqlMessage: 'The table is full',
  });
  log.error({ err: cause }, 'failed');
  log.error({ err: new Error('outer', { cause }) }, 'failed');
  expect(lines.join('')).not.toContain('what a customer wrote');
  expect(JSON.parse(lines[0]!)).toMatchObject({ msg: 'failed', err: { message: 'The table is full', errno: 1114 } });
});

it('joins the messages of causes readably, without the parts that grpc-js leaves empty', () => {
  const lines: string[] = [];
  const log = createLogger({ name: 'test', level: 'info' }, { write: (line) => void lines.push(line) });
  const cause = new Error('14 UNAVAILABLE: No connection established. Last error: null. Resolution note: ');
  log.warn({ err: new Error('The service cannot be reached.', { cause }) });
  const { err } = JSON.parse(lines[0]!) as { err: { message: string; stack: string } };
  expect(err.message).toBe('The service cannot be reached: 14 UNAVAILABLE: No connection established.');
  expect(err.stack).not.toMatch(/Last error|Resolution note/);
});

it('writes the level as a word and the time in UTC', () => {
  const lines: string[] = [];
  createLogger({ name: 'test', level: 'info' }, { write: (line) => void lines.push(line) }).warn('late');
  expect(JSON.parse(lines[0]!)).toMatchObject({ level: 'warn', time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/), msg: 'late' });
});

const loader = ['--import', './tests/support/runner/typescript.ts', '--no-warnings'];

/** Returns the numbers of the lines that a process writes, which runs this program. */
function linesOf(program: string): number[] {
  const { stdout } = spawnSync(process.execPath, [...loader, '--input-type=module', '-e', program], { encoding: 'utf8' });
  return numbersOf(stdout);
}

/** Returns the numbers of lines in order: a part that a thread of the pool was writing when the process ended may arrive after the rest. */
function numbersOf(output: string): number[] {
  return output
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { line: number }).line)
    .toSorted((a, b) => a - b);
}

const hundred = Array.from({ length: 100 }, (_, line) => line);

it('writes the lines that still wait when the process exits', () => {
  const program = `
    import { createLogger } from './services/kit/log.js';
    const log = createLogger({ name: 'test', level: 'info' });
    for (let line = 0; line < 100; line += 1) log.info({ line, text: 'x'.repeat(100) }, 'waiting');
    process.exit(0);`;
  expect(linesOf(program)).toEqual(hundred);
});

it.each(['info', 'error'])('writes the lines of level %s that still wait when a thread exits', (level) => {
  const script = `
    import { createLogger } from '${new URL('log.ts', import.meta.url).href}';
    const log = createLogger({ name: 'test', level: 'info' });
    for (let line = 0; line < 100; line += 1) log.${level}({ line, text: 'x'.repeat(100) }, 'waiting');
    process.exit(1);`;
  const program = `
    import { Worker } from 'node:worker_threads';
    new Worker(new URL(${JSON.stringify(`data:text/javascript,${encodeURIComponent(script)}`)}));`;
  expect(linesOf(program)).toEqual(hundred);
});

it('writes whole lines to a file when the process exits', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-log-'));
  try {
    const path = join(folder, 'log');
    const program = `
      import { createLogger } from './services/kit/log.js';
      const log = createLogger({ name: 'test', level: 'info' });
      for (let line = 0; line < 1000; line += 1) log.info({ line, text: 'x'.repeat(300) }, 'waiting');
      setTimeout(() => process.exit(0), 1);`;
    const file = openSync(path, 'a');
    spawnSync(process.execPath, [...loader, '--input-type=module', '-e', program], { stdio: ['ignore', file, 'inherit'] });
    closeSync(file);
    expect(numbersOf(readFileSync(path, 'utf8'))).toEqual(Array.from({ length: 1000 }, (_, line) => line));
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('does not mix the lines of threads in a pipe', () => {
  const imports = `
    import { parentPort, Worker } from 'node:worker_threads';
    import { setImmediate } from 'node:timers/promises';
    import { createLogger } from '${new URL('log.ts', import.meta.url).href}';`;
  const log = (thread: number): string => `
    const log = createLogger({ name: 'test', level: 'info' }).child({ thread: ${thread} });
    for (let line = 0; line < 1000; line += 1) {
      if (line % 100 === 0) await setImmediate();
      log.info({ line, text: '${thread}'.repeat(1500) }, 'mixed');
    }`;
  const worker = `${imports} parentPort.postMessage('begins'); ${log(1)}`;
  const program = `${imports}
    const worker = new Worker(new URL(${JSON.stringify(`data:text/javascript,${encodeURIComponent(worker)}`)}));
    worker.once('message', async () => { ${log(2)} });`;
  // The pipe fills up, because the reader pauses.
  const reader = `
    const { readSync } = require('node:fs');
    const [part, parts, pause] = [Buffer.alloc(16_384), [], new Int32Array(new SharedArrayBuffer(4))];
    for (let bytes; (bytes = readSync(0, part)) > 0;) {
      parts.push(Buffer.from(part.subarray(0, bytes)));
      Atomics.wait(pause, 0, 0, 2);
    }
    const lines = Buffer.concat(parts).toString().trim().split('\\n');
    console.log(lines.map((line) => JSON.parse(line)).length);`;
  // Node gives its children sockets, and a shell gives them pipes.
  const command = '"$@" | "$0" -e "$READER"';
  const { stdout } = spawnSync('sh', ['-c', command, process.execPath, process.execPath, ...loader, '--input-type=module', '-e', program], {
    env: { ...process.env, READER: reader },
    encoding: 'utf8',
  });
  expect(stdout).toBe('2000\n');
});
