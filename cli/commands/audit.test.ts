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
