import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { createReadStream, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
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

it('writes the level as a word and the time in UTC', () => {
  const lines: string[] = [];
  createLogger({ name: 'test', level: 'info' }, { write: (line) => void lines.push(line) }).warn('late');
  expect(JSON.parse(lines[0]!)).toMatchObject({ level: 'warn', time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/), msg: 'late' });
});

const loader = ['--import', './tests/support/runner/typescript.ts', '--no-warnings'];

/** Returns the numbers of the lines that a process writes, which runs this program. */
function linesOf(program: string): number[] {
  const { stdout } = spawnSync(process.execPath, [...loader, '--input-type=module', '-e', program], { encoding: 'utf8' });
  // A part that a thread of the pool was writing when the process ended may arrive after the rest.
  return stdout
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

it('does not mix the lines of threads in a pipe', async () => {
  const imports = `
    import { parentPort, Worker } from 'node:worker_threads';
    import { setImmediate } from 'node:timers/promises';
    import { createLogger } from '${new URL('log.ts', import.meta.url).href}';`;
  const log = (thread: number): string => `
    const log = createLogger({ name: 'test', level: 'info', sharesOutput: true }).child({ thread: ${thread} });
    for (let line = 0; line < 1000; line += 1) {
      if (line % 100 === 0) await setImmediate();
      log.info({ line, text: '${thread}'.repeat(1500) }, 'mixed');
    }`;
  const worker = `${imports} parentPort.postMessage('begins'); ${log(1)}`;
  const program = `${imports}
    const worker = new Worker(new URL(${JSON.stringify(`data:text/javascript,${encodeURIComponent(worker)}`)}));
    worker.once('message', async () => { ${log(2)} });`;
  // Node gives its children sockets in place of pipes.
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-log-'));
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const command = [
    '-c',
    'pipe=$1; shift; exec "$@" > "$pipe"',
    'sh',
    pipe,
    process.execPath,
    ...loader,
    '--input-type=module',
    '-e',
    program,
  ];
  spawn('sh', command, { stdio: 'inherit' });
  const parts: Buffer[] = [];
  for await (const part of createReadStream(pipe, { highWaterMark: 16_384 })) {
    parts.push(part as Buffer);
    // The pipe fills up while nobody reads.
    if (parts.length % 8 === 0) await setTimeout(1);
  }
  rmSync(folder, { recursive: true });
  const lines = Buffer.concat(parts).toString().trim().split('\n');
  expect(lines.map((line) => JSON.parse(line) as unknown)).toHaveLength(2000);
});
