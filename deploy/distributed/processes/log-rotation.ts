// Rotates the log files of the launcher's processes. Each process appends to its file through a descriptor that it never reopens, so a full file
// is copied and emptied, as logrotate's copytruncate does.
import {
  closeSync,
  copyFileSync,
  existsSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Part } from '#kit/lifecycle.js';
import type { Logger } from '#kit/log.js';
import { everyAbout } from '#kit/scheduling/shared-timers.js';

/** Options of the rotation. */
export interface LogRotationOptions {
  /** Folders whose `*.log` files are rotated. */
  readonly folders: readonly string[];
  /** A larger file is rotated. 0: none is. */
  readonly bytesMax: number;
  /** How many earlier files are kept of each: `gateway.log.1` is the latest. */
  readonly filesKept: number;
}

const checkMs = 10_000;

/** Returns the rotation as a part. */
export function logRotation(options: LogRotationOptions, log: Logger): Part {
  let stopChecking = (): void => undefined;
  return {
    name: 'log rotation',
    async start() {
      if (options.bytesMax > 0) stopChecking = everyAbout(checkMs, () => rotateLogs(options, log));
    },
    async stop() {
      stopChecking();
    },
  };
}

/** Rotates the files that have grown too large. */
export function rotateLogs({ folders, bytesMax, filesKept }: LogRotationOptions, log: Logger): void {
  for (const path of folders.flatMap(logsIn)) {
    try {
      if (statSync(path).size > bytesMax) rotate(path, filesKept);
    } catch (error) {
      log.warn({ err: error, log: path }, 'a log file could not be rotated');
    }
  }
}

function logsIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith('.log'))
    .map((name) => join(folder, name));
}

function rotate(path: string, filesKept: number): void {
  rmSync(`${path}.${filesKept}`, { force: true });
  for (let number = filesKept - 1; number >= 1; number -= 1) {
    if (existsSync(`${path}.${number}`)) renameSync(`${path}.${number}`, `${path}.${number + 1}`);
  }
  if (filesKept > 0) copyFileSync(path, `${path}.1`);
  const file = openSync(path, 'r+');
  try {
    if (filesKept > 0) copyRest(file, `${path}.1`);
    ftruncateSync(file, 0);
  } finally {
    closeSync(file);
  }
}

/** Appends what was written to the file during the copy, until nothing more has been. */
function copyRest(file: number, copyPath: string): void {
  const copy = openSync(copyPath, 'a');
  try {
    for (let copied = fstatSync(copy).size; ; copied = fstatSync(copy).size) {
      const rest = Buffer.alloc(fstatSync(file).size - copied);
      if (rest.length === 0) return;
      writeSync(copy, rest, 0, readSync(file, rest, 0, rest.length, copied));
    }
  } finally {
    closeSync(copy);
  }
}
