import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type FakeGateway, startFakeGateway } from '../testing/fake-gateway.js';
import { jsonLines, tollgate } from '../testing/tollgate.js';

let gateway: FakeGateway;
let out: string;
beforeEach(async () => {
  gateway = await startFakeGateway();
  out = mkdtempSync(join(tmpdir(), 'tollgate-test-'));
});
afterEach(async () => {
  await gateway.stop();
  rmSync(out, { recursive: true, force: true });
});

const certificate = (process: string): X509Certificate => new X509Certificate(readFileSync(join(out, process, 'tls.crt')));

it('gives every process a folder with its certificate, its key and the authority, and only clients no server name', async () => {
  await tollgate(gateway, ['certificate', 'create', '--out', out, '--host', 'tollgate-{service}.default.svc']);
  const authority = new X509Certificate(readFileSync(join(out, 'authority', 'ca.crt')));
  for (const process of ['auth', 'catalog', 'ledger', 'metering', 'inference', 'gateway', 'operator']) {
    expect(readdirSync(join(out, process)).sort()).toEqual(['ca.crt', 'tls.crt', 'tls.key']);
    expect(statSync(join(out, process, 'tls.key')).mode & 0o777).toBe(0o600);
    expect(certificate(process).verify(authority.publicKey)).toBe(true);
    expect(certificate(process).subject).toBe(`CN=${process}`);
  }
  expect(certificate('ledger').subjectAltName).toBe('DNS:localhost, IP Address:127.0.0.1, DNS:tollgate-ledger.default.svc');
  expect(certificate('gateway').subjectAltName).toBeUndefined();
});

it.each(['bad host', '', '{service}:7103', 'https://{service}'])('refuses the invalid host name "%s"', async (host) => {
  const { code, stderr } = await tollgate(gateway, ['certificate', 'create', '--out', out, '--host', 'ok.example', host]);
  expect([code, stderr]).toEqual([2, `error: --host "${host}" must be a DNS name or an IP address.\n`]);
  expect(readdirSync(out)).toEqual([]);
});

it('keeps certificates that still fit, and replaces them for a new name or on request', async () => {
  const create = async (...args: string[]) =>
    jsonLines((await tollgate(gateway, ['--json', 'certificate', 'create', '--out', out, ...args])).stdout)
      .filter(({ created }) => created === true)
      .map(({ process }) => process);
  expect(await create()).toHaveLength(7);
  expect(await create()).toEqual([]);
  // An earlier run was interrupted.
  rmSync(join(out, 'auth', 'ca.crt'));
  expect(await create()).toEqual([]);
  expect(readdirSync(join(out, 'auth'))).toContain('ca.crt');
  expect(await create('--host', '{service}', 'tollgate-{service}')).toEqual(['auth', 'catalog', 'ledger', 'metering', 'inference']);
  const authority = readFileSync(join(out, 'authority', 'ca.crt'), 'utf8');
  expect(await create('--renew')).toHaveLength(7);
  expect(readFileSync(join(out, 'authority', 'ca.crt'), 'utf8')).toBe(authority);
  expect(certificate('ledger').subjectAltName).toContain('DNS:tollgate-ledger');
});
