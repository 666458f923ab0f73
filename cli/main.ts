#!/usr/bin/env node
// The process `tollgate`.
import { text } from 'node:stream/consumers';
import { tollgateVersion as version } from '#kit/process/version.js';
import { askSecret } from './ask-secret.js';
import { explain } from './errors.js';
import { run } from './program.js';

// As shells report a process that SIGINT ended.
const interruptedCode = 130;

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // A reader such as `head` that closes the pipe early is not an error.
  if (error.code === 'EPIPE') process.exit(0);
  const { lines, exitCode: failed } = explain(error);
  process.stderr.write(`${lines.join('\n')}\n`);
  process.exit(failed);
});

const exitCode = await run(process.argv.slice(2), {
  env: process.env,
  stdout: (chunk) => void process.stdout.write(chunk),
  stderr: (chunk) => void process.stderr.write(chunk),
  readStdin: () => text(process.stdin),
  askSecret: async (question) =>
    process.stdin.isTTY && process.stderr.isTTY ? askSecret(question, process.stdin, process.stderr) : undefined,
  onInterrupt(work) {
    const end = (): never => {
      work();
      process.exit(interruptedCode);
    };
    process.once('SIGINT', end);
    return () => process.removeListener('SIGINT', end);
  },
  nowMs: () => Date.now(),
  version,
});

// Exits explicitly, because Node would wait for the connection to a service that hangs; but only after all output has been written.
process.stdout.write('', (error) => {
  if (!error) process.exit(exitCode);
});
