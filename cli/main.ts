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
  // Readline echoes the input to its output; this output discards it.
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const prompt = createInterface({ input: process.stdin, output: silent, terminal: true });
  try {
    return await prompt.question('');
  } finally {
    prompt.close();
    process.stderr.write('\n');
  }
}

// A reader such as `head` that closes the pipe early is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

// In the build this file is dist/cli/main.js.
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

// Exits explicitly, because Node would wait for the connection to a service that hangs; but only after all output has been written.
process.stdout.write('', () => process.exit(exitCode));
