#!/usr/bin/env node
// The process `tollgate`.
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { run } from './program.js';

async function askSecret(question: string): Promise<string | undefined> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return undefined;
  process.stderr.write(question);
  // Readline echoes what is typed to its output; this one drops it.
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const prompt = createInterface({ input: process.stdin, output: silent, terminal: true });
  try {
    return await prompt.question('');
  } finally {
    prompt.close();
    process.stderr.write('\n');
  }
}

// A reader such as `head` that has seen enough is no fault.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

// As built: this file is dist/cli/main.js.
const { version } = createRequire(import.meta.url)('../../package.json') as { version: string };

const exitCode = await run(process.argv.slice(2), {
  env: process.env,
  stdout: (chunk) => void process.stdout.write(chunk),
  stderr: (chunk) => void process.stderr.write(chunk),
  readStdin: () => text(process.stdin),
  askSecret,
  nowMs: () => Date.now(),
  version,
});

// Not left to Node, which would wait for the connection to a service that hangs; but only after all has been written.
process.stdout.write('', () => process.exit(exitCode));
