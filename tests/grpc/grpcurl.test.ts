// The services as seen by a third-party program: grpcurl, which gets the contracts only from server reflection.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { grpcurl, type ServiceName } from '../support/clients/grpcurl.js';
import { modes, startSystem, type System } from '../support/systems/system.js';

const names = ['auth', 'catalog', 'ledger', 'metering', 'inference'] as const;

describe.each(modes)('grpcurl in %s mode', (mode) => {
  let system: System;

  beforeAll(async () => {
    system = await startSystem(mode);
  });

  afterAll(() => system?.stop());

  const call = (service: ServiceName, flags: string[], ...args: string[]): Promise<string> => grpcurl(system, service, flags, ...args);

  const lines = (text: string): string[] => text.trim().split('\n');

  it('lists every service, health and reflection', async () => {
    for (const name of names) {
      const listed = lines(await call(name, [], 'list'));
      expect(listed.some((each) => each.startsWith(`tollgate.${name}.v1.`))).toBe(true);
      expect(listed).toEqual(expect.arrayContaining(['grpc.health.v1.Health', 'grpc.reflection.v1.ServerReflection']));
    }
  });

  // To describe a service, grpcurl resolves every type of its file and of what that imports.
  it('describes every service, and its messages', async () => {
    for (const name of names) {
      const services = lines(await call(name, [], 'list')).filter(
        (each) => each.startsWith(`tollgate.${name}.`) || each.startsWith('grpc.health'),
      );
      expect(services.length).toBeGreaterThan(1);
      for (const service of services) {
        const described = await call(name, [], 'describe', service);
        const messages = [...described.matchAll(/[(] (?:stream )?\.([\w.]+) [)]/g)].map(([, message]) => message!);
        expect(messages.length).toBeGreaterThanOrEqual(2);
        const last = messages.at(-1)!;
        expect(await call(name, [], 'describe', last)).toContain(`message ${last.split('.').at(-1)}`);
      }
    }
  });

  it('shows which grant an RPC requires', async () => {
    expect(await call('ledger', [], 'describe', 'tollgate.ledger.v1.LedgerService.GetBalance')).toContain('ledger.read');
  });

  it('calls RPCs, and reads the health of each service', async () => {
    const { accounts } = JSON.parse(await call('auth', [], 'tollgate.auth.v1.AuthService/ListAccounts')) as { accounts: { id: string }[] };
    const request = JSON.stringify({ account_id: accounts[0]!.id });
    const { balance } = JSON.parse(await call('ledger', ['-d', request], 'tollgate.ledger.v1.LedgerService/GetBalance')) as {
      balance: { accountId: string; availableNanoUsd: string };
    };
    expect(balance.accountId).toBe(accounts[0]!.id);
    expect(BigInt(balance.availableNanoUsd)).toBeGreaterThan(0n);
    for (const name of names) {
      expect(JSON.parse(await call(name, ['-d', '{"service":""}'], 'grpc.health.v1.Health/Check'))).toEqual({ status: 'SERVING' });
    }
  });

  it('reads an error with its reason, its details and the wrong field', async () => {
    const request = JSON.stringify({ name: '' });
    const refused = await call('auth', ['-format-error', '-d', request], 'tollgate.auth.v1.AuthService/CreateAccount').catch(
      (error: { stderr: string }) => error.stderr,
    );
    expect(JSON.parse(refused)).toMatchObject({
      code: 3,
      details: [
        { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'INVALID_REQUEST', domain: 'tollgate', metadata: { field: 'name' } },
        { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: [{ field: 'name' }] },
      ],
    });
  });
});
