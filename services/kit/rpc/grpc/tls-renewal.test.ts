// Certificates that are replaced while servers and clients run.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { callContext } from '#client/call-context.js';
import { dialGrpc, type GrpcConnection } from '#client/grpc/grpc-client.js';
import { TlsFiles } from '#client/tls-files.js';
import { probe, probeService, ProbeServiceDefinition } from '../../testing/probe-service.js';
import { recordingLogger } from '../../testing/log.js';
import { type CertificateFiles, ensureCertificate } from '../../tls/certificate-files.js';
import { type GrpcServer, serveGrpc } from './grpc-server.js';

const { log, lines } = recordingLogger();
let folder: string;
let server: GrpcServer;
let ofServer: TlsFiles;
let ofClient: TlsFiles;
const connections: GrpcConnection[] = [];

/** Issues certificates by an authority of this name. */
async function issue(authority: string, name: string): Promise<CertificateFiles> {
  return ensureCertificate(join(folder, authority), name, { isClient: true, hosts: ['localhost'] });
}

/** Returns where a process reads its certificates. */
function usedFiles(name: string): CertificateFiles {
  const used = join(folder, 'used');
  return { ca: join(used, 'ca.pem'), cert: join(used, `${name}.pem`), key: join(used, `${name}.key`) };
}

/** Puts the certificates of an authority where the processes read them. */
async function install(authority: string, name: string): Promise<CertificateFiles> {
  const [from, to] = [await issue(authority, name), usedFiles(name)];
  mkdirSync(dirname(to.ca), { recursive: true });
  for (const file of ['ca', 'cert', 'key'] as const) copyFileSync(from[file], to[file]);
  return to;
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-test-'));
  ofServer = new TlsFiles(await install('first', 'ledger'));
  ofClient = new TlsFiles(await install('first', 'gateway'));
  const services = [{ definition: ProbeServiceDefinition, service: probeService({ echo: async (request) => request }) }];
  server = await serveGrpc({ services, address: 'localhost:0', tls: ofServer, log });
});

afterEach(async () => {
  for (const connection of connections.splice(0)) connection.close();
  await server.stop(0);
  rmSync(folder, { recursive: true, force: true });
});

/** Calls the server on a new connection. Returns "ok" or the reason of the error. */
async function call(tls = ofClient, connection = dial(tls)): Promise<string> {
  return connection
    .client(ProbeServiceDefinition)
    .echo(probe('hello'), callContext({ caller: 'gateway', timeoutMs: 5000 }))
    .then(
      () => 'ok',
      (error: { reason: string }) => error.reason,
    );
}

function dial(tls: TlsFiles): GrpcConnection {
  const connection = dialGrpc(server.address, { caller: 'gateway', service: 'ledger', tls });
  connections.push(connection);
  return connection;
}

describe('certificates in files', () => {
  it('are used by new connections once both sides have the new ones, even of another authority', async () => {
    const open = dial(ofClient);
    expect(await call(ofClient, open)).toBe('ok');
    const previous = new TlsFiles(await issue('first', 'gateway'));
    await install('second', 'ledger');
    await install('second', 'gateway');
    for (const files of [ofServer, ofClient]) files.refresh(log);
    expect(await call()).toBe('ok');
    expect(await call(previous)).not.toBe('ok');
    // An open connection stays open.
    expect(await call(ofClient, open)).toBe('ok');
    expect(lines.filter(({ msg }) => msg === 'certificates were read again')).toHaveLength(2);
  });

  it('are left alone while only some of them have been replaced', async () => {
    const used = usedFiles('ledger');
    copyFileSync((await issue('second', 'ledger')).key, used.key);
    ofServer.refresh(log);
    expect(await call()).toBe('ok');
    expect(lines.at(-1)).toMatchObject({ msg: expect.stringContaining('cannot be used') });
    rmSync(used.cert);
    ofServer.refresh(log);
    expect(await call()).toBe('ok');
  });

  it('are logged each time that they cannot be used, also after the previous ones were put back', async () => {
    const used = usedFiles('ledger');
    const install = async (authority: string): Promise<void> => {
      copyFileSync((await issue(authority, 'ledger')).key, used.key);
      ofServer.refresh(log);
      ofServer.refresh(log);
    };
    const before = lines.length;
    for (const authority of ['second', 'first', 'second']) await install(authority);
    const fault = { msg: expect.stringContaining('cannot be used') };
    expect(lines.slice(before)).toMatchObject([fault, fault]);
  });
});
