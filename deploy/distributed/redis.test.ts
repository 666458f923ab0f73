import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { recordingLogger } from '#kit/testing/log.js';
import { untilTrue } from '#kit/testing/waiting.js';
import { superviseRedis, type SupervisedRedis } from './redis.js';

const path = process.env['PATH'];
let folder: string;
let redis: SupervisedRedis;
const pids: number[] = [];
const { log, lines } = recordingLogger();

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-test-'));
  redis = superviseRedis({ folder: join(folder, 'redis'), port: 1, log, restartDelayMs: 20 }, (pid) => pids.push(pid));
});
afterEach(async () => {
  process.env['PATH'] = path;
  await redis.stop();
  rmSync(folder, { recursive: true });
});

/** Programs in place of the real ones, which need not be installed. */
function usePrograms(): string {
  const programs = join(folder, 'programs');
  mkdirSync(programs);
  writeFileSync(join(programs, 'setpriv'), '#!/bin/sh\nshift\nexec "$@"\n', { mode: 0o700 });
  writeFileSync(join(programs, 'redis-server'), '#!/bin/sh\nexec /bin/sleep 60\n', { mode: 0o700 });
  process.env['PATH'] = programs;
  return programs;
}

it('is started again after it could not be started for a while', async () => {
  const programs = usePrograms();
  await redis.start();
  await untilTrue(() => pids.length === 1);
  renameSync(join(programs, 'setpriv'), join(programs, 'away'));
  process.kill(pids[0]!, 'SIGKILL');
  await untilTrue(() => lines.length > 2);
  renameSync(join(programs, 'away'), join(programs, 'setpriv'));
  await untilTrue(() => pids.length === 2);
  expect(lines[0]).toMatchObject({ cause: 'SIGKILL' });
});
