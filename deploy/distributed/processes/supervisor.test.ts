import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLog as log } from '#kit/testing/log.js';
import { untilTrue } from '#kit/testing/waiting.js';
import { supervise, type Supervised } from './supervisor.js';

let folder: string;
let part: Supervised | undefined;
let pids: number[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-test-'));
  pids = [];
});

afterEach(async () => {
  await part?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Starts a supervised process that runs this code. */
async function run(code: string, stopMsMax = 5000, env = (): Record<string, string> => ({ PROBE: 'set' })): Promise<void> {
  const script = join(folder, 'script.mjs');
  writeFileSync(script, code);
  const spec = { name: 'probe', script, env, logPath: join(folder, 'probe.log'), restartDelayMs: 50, stopMsMax };
  part = supervise(spec, log, (pid) => pids.push(pid));
  await part.start();
}

const logged = (): string => (existsSync(join(folder, 'probe.log')) ? readFileSync(join(folder, 'probe.log'), 'utf8') : '');
const runsUntilStopped =
  "process.on('SIGTERM', () => { console.log('ended'); process.exit(0); }); setInterval(() => {}, 1000); console.log('up', process.env.PROBE);";

describe('a supervised process', () => {
  it('is restarted when it is killed, without reporting an error', async () => {
    await run(runsUntilStopped);
    await untilTrue(() => logged().includes('up set'));
    process.kill(pids[0]!, 'SIGKILL');
    await untilTrue(() => logged().split('up set').length === 3);
    expect(pids).toHaveLength(2);
    expect(part!.fault()).toBeUndefined();
  });

  it('is started again when the system could not start it', async () => {
    // As on a machine that has no more processes or memory for the moment.
    let starts = 0;
    const env = (): Record<string, string> => ((starts += 1) === 1 ? { PATH: folder } : { PROBE: 'set' });
    await run(runsUntilStopped, 5000, env);
    await untilTrue(() => logged().includes('up set'));
    expect([starts, pids.length]).toEqual([2, 1]);
  });

  it('can be stopped when the system could not start it', async () => {
    await run(runsUntilStopped, 5000, () => ({ PATH: folder }));
    await part!.stop();
    expect(pids).toEqual([]);
  });

  it('reports the last lines of its log when it exits with an error', async () => {
    await run("console.error('no such setting'); process.exit(1);");
    await untilTrue(() => part!.fault() !== undefined);
    expect(part!.fault()).toContain('no such setting');
  });

  it('is restarted when it exits with an error after its log was removed', async () => {
    await run(`import { rmSync } from 'node:fs'; rmSync(${JSON.stringify(join(folder, 'probe.log'))}, { force: true }); process.exit(1);`);
    await untilTrue(() => pids.length > 1);
    expect(part!.fault()).toBe('');
  });

  it('receives one signal to stop and is not restarted', async () => {
    await run(runsUntilStopped);
    await untilTrue(() => logged().includes('up set'));
    await part!.stop();
    expect(logged()).toContain('ended');
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(pids).toHaveLength(1);
  });

  it('is killed when it does not stop in time', async () => {
    await run("process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); console.log('up');", 100);
    await untilTrue(() => logged().includes('up'));
    await part!.stop();
    expect(() => process.kill(pids[0]!, 0)).toThrow();
  });

  it('is in a process group of its own, which the launcher’s Ctrl-C does not reach', async () => {
    await run(runsUntilStopped);
    const group = execFileSync('ps', ['-o', 'pgid=', '-p', String(pids[0])], { encoding: 'utf8' });
    expect(Number(group)).toBe(pids[0]);
  });
});
