#!/usr/bin/env node
// The process `tollgate`.
import { createRequire } from 'node:module';
import { text } from 'node:stream/consumers';
import { askSecret } from './ask-secret.js';
import { run } from './program.js';

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
  askSecret: async (question) =>
    process.stdin.isTTY && process.stderr.isTTY ? askSecret(question, process.stdin, process.stderr) : undefined,
  nowMs: () => Date.now(),
  version,
});

// Exits explicitly, because Node would wait for the connection to a service that hangs; but only after all output has been written.
process.stdout.write('', () => process.exit(exitCode));
