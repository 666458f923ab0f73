import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { type FakeGateway, startFakeGateway } from '../testing/fake-gateway.js';
import { tollgate } from '../testing/tollgate.js';

let gateway: FakeGateway;

beforeEach(async () => {
  gateway = await startFakeGateway();
});

afterEach(() => gateway.stop());

it('prints the last entry of the audit log so that it can be passed on as it is', async () => {
  gateway.state.auditLast = { number: 28n, hash: Buffer.alloc(32, 0x0f) };
  const { stdout } = await tollgate(gateway, ['audit', 'verify']);
  const seen = /audit verify --seen (\S+)`/.exec(stdout)![1]!;
  expect(seen).toBe(`28:${'0f'.repeat(32)}`);
  expect((await tollgate(gateway, ['audit', 'verify', '--seen', seen])).code).toBe(0);
});

it('says that a restore may explain a missing entry, and still fails', async () => {
  gateway.state.auditDrift = 'Entry 8, whose hash you recorded, is missing.';
  gateway.state.auditRestore = {
    atMs: BigInt(Date.UTC(2027, 0, 10, 9)),
    backupAtMs: BigInt(Date.UTC(2027, 0, 10, 3)),
    lastNumber: 5n,
  };
  const { code, stdout, stderr } = await tollgate(gateway, ['audit', 'verify', '--seen', `8:${'0f'.repeat(32)}`]);
  expect([code, stdout]).toEqual([1, expect.stringContaining('restored')]);
  expect(stderr).toContain(
    'error: Entry 8, whose hash you recorded, is missing. The installation was restored on 2027-01-10 09:00:00Z from the backup of 2027-01-10 03:00:00Z, whose last entry was 5;',
  );
  expect(stderr).toContain('This does not rule out that the log was changed');
});
