import { afterAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startFakeGateway, testNowMs } from '../testing/fake-gateway.js';
import { tollgate } from '../testing/tollgate.js';
import { binaryLogsOf } from './backup.js';

const folder = mkdtempSync(join(tmpdir(), 'tollgate-cli-'));
afterAll(() => rmSync(folder, { recursive: true }));

const restore = (...options: string[]) =>
  tollgate({ env: { TOLLGATE_DATA_DIR: join(folder, 'data') } }, ['restore', join(folder, 'none'), ...options]);

describe('a backup that another program made', () => {
  it('is recorded for the doctor', async () => {
    const gateway = await startFakeGateway();
    expect(gateway.state.backups.lastBackupAtMs).toBe(0n);
    expect(await tollgate(gateway, ['backup', '--record'])).toMatchObject({ code: 0 });
    expect(gateway.state.backups.lastBackupAtMs).toBe(BigInt(testNowMs));
    await gateway.stop();
  });

  it.each([
    [[], 'No folder for the backup was specified.'],
    [['backups', '--record'], '--record cannot be combined with a folder.'],
  ])('is not mistaken for one that is to be made: %j', async (options, error) => {
    const env = { TOLLGATE_DATA_DIR: join(folder, 'data') };
    expect(await tollgate({ env }, ['backup', ...options])).toMatchObject({
      code: 2,
      stderr: `error: ${error}\nSpecify a new folder for the backup, or only --record.\n`,
    });
  });
});

describe('a restore up to an instant', () => {
  it.each(['2026-11-31T12:00Z', '11/23/2026 10:00', '2026-11-23T10:00+1'])(
    'refuses a text that is not a date or time: %s',
    async (until) => {
      expect(await restore('--binary-logs', 'binlog.000001', '--until', until)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('2027-01-31T12:00Z'),
      });
    },
  );

  it('needs binary logs', async () => {
    expect(await restore('--until', '2026-11-23T10:00Z')).toMatchObject({ code: 2, stderr: expect.stringContaining('--binary-logs') });
  });

  it('gives it to MariaDB in UTC', () => {
    expect(binaryLogsOf({ binaryLogs: ['a', 'b'], until: BigInt(Date.UTC(2026, 10, 23, 10, 0, 7)) })).toEqual({
      files: ['a', 'b'],
      until: '2026-11-23 10:00:07',
    });
    expect([binaryLogsOf({ binaryLogs: ['a'] }), binaryLogsOf({})]).toEqual([{ files: ['a'], until: undefined }, undefined]);
  });
});
