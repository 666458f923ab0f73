// The processes of a distributed Tollgate, started one by one as an operator of several machines does: in any order, and with
// certificates that identify the callers.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, credentials, loadPackageDefinition, type ServiceClientConstructor } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { LedgerServiceDefinition } from '#proto/ledger/v1/ledger.js';
import { callContext } from '#client/call-context.js';
import { dialGrpc, type GrpcConnection } from '#client/grpc/grpc-client.js';
import { checkHealth } from '#kit/rpc/grpc/health-client.js';
import { readTls, type Tls } from '#client/tls.js';
import { createTestAuthority } from '#kit/testing/certificates.js';
import { type CertificateFiles, ensureCertificate } from '#kit/tls/certificate-files.js';
import { type CommandResult, runCommand } from '../support/clients/command-runner.js';
import { type Child, cleanEnv, eventually, freePort, root, startScript } from '../support/systems/process.js';

const services = ['auth', 'catalog', 'ledger', 'metering', 'inference'] as const;

/** Runs a command as the first process of a container: in a namespace of process ids. */
const asFirst = ['--user', '--map-root-user', '--pid', '--fork', '--kill-child'];
// Where namespaces are not permitted, the report shows the test as skipped.
const canBeFirst = spawnSync('unshare', [...asFirst, 'true']).status === 0;

(canBeFirst ? it : it.skip)('A process that is the first of its container ends at a signal while it waits for its database.', async () => {
  const container = spawn('unshare', [...asFirst, process.execPath, 'dist/services/catalog/main.js'], {
    cwd: root,
    env: cleanEnv({
      TOLLGATE_CATALOG_LISTEN: `127.0.0.1:${await freePort()}`,
      TOLLGATE_CATALOG_DATABASE_URL: `mysql://user:password@127.0.0.1:${await freePort()}/catalog`,
    }),
  });
  let output = '';
  container.stdout.on('data', (chunk) => (output += chunk));
  const ended = new Promise<number | null>((resolve) => container.once('exit', resolve));
  try {
    await eventually(() => (output.includes('ECONNREFUSED') ? true : undefined));
    const [pid] = readFileSync(`/proc/${container.pid}/task/${container.pid}/children`, 'utf8').split(' ');
    process.kill(Number(pid), 'SIGTERM');
    expect(await Promise.race([ended, sleep(5000, 'still running', { ref: false })])).toBe(128 + constants.signals.SIGTERM);
  } finally {
    container.kill('SIGKILL');
  }
});

describe('processes started one by one', () => {
  let folder: string;
  let baseUrl: string;
  let addresses: Record<(typeof services)[number], string>;
  const children: Child[] = [];

  const certificates = new Map<string, CertificateFiles>();
  const files = (name: string): CertificateFiles => certificates.get(name)!;
  const tlsOf = (name: string): Tls => readTls(files(name));
  const envOf = (name: string): Record<string, string> => {
    const { ca, cert, key } = files(name);
    const peers = services.map((service) => [`TOLLGATE_${service.toUpperCase()}_ADDRESS`, addresses[service]]);
    return { ...Object.fromEntries(peers), TOLLGATE_TLS_CA: ca, TOLLGATE_TLS_CERT: cert, TOLLGATE_TLS_KEY: key };
  };

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tollgate-e2e-'));
    for (const name of [...services, 'gateway', 'operator']) {
      certificates.set(name, await ensureCertificate(join(folder, 'tls'), name, { isClient: true, hosts: ['localhost'] }));
    }
    const ports = await Promise.all(services.map(freePort));
    addresses = Object.fromEntries(services.map((name, index) => [name, `localhost:${ports[index]}`])) as typeof addresses;
    const port = await freePort();
    baseUrl = `http://127.0.0.1:${port}`;
    children.push(startScript('dist/gateway/main.js', [], { ...envOf('gateway'), PORT: String(port) }));
  });

  afterAll(async () => {
    await Promise.all(children.map((child) => child.end('SIGTERM')));
    rmSync(folder, { recursive: true, force: true });
  });

  function startService(name: (typeof services)[number]): void {
    const own = `TOLLGATE_${name.toUpperCase()}_`;
    children.push(
      startScript(`dist/services/${name}/main.js`, [], {
        ...envOf(name),
        [`${own}LISTEN`]: addresses[name],
        [`${own}DATABASE_URL`]: `sqlite:${join(folder, `${name}.db`)}`,
        ...(name === 'auth' ? { TOLLGATE_AUTH_SECRET_KEY_FILE: join(folder, 'auth-secret-key') } : {}),
        ...(name === 'metering' ? { TOLLGATE_METERING_SECRET_KEY_FILE: join(folder, 'metering-secret-key') } : {}),
        ...(name === 'inference' ? { TOLLGATE_INFERENCE_SECRET_KEY_FILE: join(folder, 'secret-key') } : {}),
      }),
    );
  }

  function untilMissing(names: readonly string[]): Promise<boolean> {
    return eventually(async () => {
      const response = await fetch(`${baseUrl}/readyz`);
      const { missing = [] } = (await response.json()) as { missing?: string[] };
      expect({ status: response.status, missing: missing.sort() }).toEqual({ status: names.length === 0 ? 200 : 503, missing: names });
      return true;
    });
  }

  const cli = (...args: string[]): Promise<CommandResult> =>
    runCommand(args, { ...envOf('operator'), TOLLGATE_GATEWAY_URL: baseUrl, TOLLGATE_DATA_DIR: folder });

  it('names the missing services until all have started, in any order, and lists no models as unserved meanwhile', async () => {
    const absent: string[] = [...services].sort();
    await untilMissing(absent);
    expect((await cli('doctor')).code).toBe(1);
    // Metering starts before the ledger that it calls, and auth last.
    for (const name of ['metering', 'ledger', 'catalog', 'inference', 'auth'] as const) {
      startService(name);
      absent.splice(absent.indexOf(name), 1);
      await untilMissing(absent);
      const isListed = !absent.includes('catalog') && !absent.includes('inference');
      expect((await fetch(`${baseUrl}/v1/catalog`)).status).toBe(isListed ? 200 : 503);
    }
  });

  it('then serves calls, and passes all checks of tollgate doctor', async () => {
    const account = JSON.parse((await cli('account', 'create', 'first', '--json')).stdout) as { id: string };
    await cli('balance', 'deposit', '1', '--account', account.id);
    const { secret } = JSON.parse((await cli('key', 'create', '--name', 'first', '--account', account.id, '--json')).stdout) as {
      secret: string;
    };
    const response = await fetch(`${baseUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${secret}` },
      body: JSON.stringify({ model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] }),
    });
    expect(response.status).toBe(200);
    expect(await cli('doctor')).toMatchObject({ code: 0 });
  });

  it('then has its secret keys rotated without a restart, and does not start without them', async () => {
    const shown = async (): Promise<{ service: string; id: string; current: boolean; sealed_secrets: number }[]> =>
      (await cli('secret-key', 'show', '--json')).stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
    const before = await shown();
    expect(before.map(({ service, current }) => [service, current])).toEqual([
      ['auth', true],
      ['metering', true],
      ['inference', true],
    ]);
    expect(await cli('secret-key', 'rotate')).toMatchObject({ code: 0 });
    expect(await cli('secret-key', 'prune')).toMatchObject({ code: 0 });
    const file = join(folder, 'auth-secret-key');
    expect(readFileSync(file, 'utf8').trim().split('\n')).toHaveLength(1);
    const after = await shown();
    expect(after).toHaveLength(3);
    expect(after[0]).toMatchObject({ service: 'auth', current: true, sealed_secrets: 1 });
    expect(after.filter(({ id }) => before.some((key) => key.id === id))).toEqual([]);

    // The most recently started process.
    expect(await children.pop()!.end('SIGTERM')).toBe(0);
    renameSync(file, `${file}.away`);
    startService('auth');
    const refused = children.pop()!;
    await eventually(() => (refused.process.exitCode === null ? undefined : true));
    expect(refused.stderr()).toContain(`1 with the key ${after[0]!.id}), but the secret key file ${file} does not exist. Restore the file`);
    expect(existsSync(file)).toBe(false);
    renameSync(`${file}.away`, file);
    startService('auth');
    await untilMissing([]);
  });

  describe('a caller of the ledger', () => {
    const connections: GrpcConnection[] = [];
    afterAll(() => connections.forEach((connection) => connection.close()));

    function dial(tls: Tls | undefined): GrpcConnection {
      const connection = dialGrpc(addresses.ledger, { caller: 'operator', tls });
      connections.push(connection);
      return connection;
    }

    const balance = (tls: Tls | undefined) =>
      dial(tls)
        .client(LedgerServiceDefinition)
        .getBalance({ accountId: 'acct_00000000000000000000000000000000' }, callContext({ caller: 'operator', timeoutMs: 5000 }));

    it('is identified by its certificate, not by the name that it sends', async () => {
      const settle = dial(tlsOf('gateway')).client(LedgerServiceDefinition).settle;
      const request = { holdId: '', accountId: '', costNanoUsd: 1n, keyId: '' };
      await expect(settle(request, callContext({ caller: 'metering', timeoutMs: 5000 }))).rejects.toMatchObject({
        reason: 'peer_not_permitted',
      });
      await expect(balance(tlsOf('gateway'))).resolves.toMatchObject({});
      await expect(balance(tlsOf('catalog'))).rejects.toMatchObject({ reason: 'peer_not_permitted' });
    });

    it('is refused without a certificate, and with one from another authority', async () => {
      await expect(balance(undefined)).rejects.toMatchObject({ reason: 'service_unavailable' });
      const stranger = createTestAuthority();
      const foreign = { ...stranger.issue('operator'), ca: tlsOf('operator').ca };
      stranger.drop();
      await expect(balance(foreign)).rejects.toMatchObject({ reason: 'service_unavailable' });
      const withoutOwn = new (reflectionClient())(addresses.ledger, credentials.createSsl(readFileSync(files('operator').ca)));
      await expect(reflected(withoutOwn, { listServices: '' })).rejects.toThrow(/UNAVAILABLE/);
    });

    it('does not talk to a server that has the certificate of another service', async () => {
      const meant = (service: string) => {
        const connection = dialGrpc(addresses.ledger, { caller: 'operator', service, tls: tlsOf('operator') });
        connections.push(connection);
        const context = callContext({ caller: 'operator', timeoutMs: 5000 });
        return connection.client(LedgerServiceDefinition).getBalance({ accountId: 'acct_00000000000000000000000000000000' }, context);
      };
      await expect(meant('ledger')).resolves.toMatchObject({});
      await expect(meant('metering')).rejects.toMatchObject({ reason: 'service_unavailable' });
    });

    it('can use health checks and reflection', async () => {
      await checkHealth(dial(tlsOf('gateway')), LedgerServiceDefinition.fullName, { caller: 'gateway', timeoutMs: 5000 });
      const { ca, cert, key } = tlsOf('operator');
      const client = new (reflectionClient())(addresses.ledger, credentials.createSsl(ca, key, cert));
      const answer = await reflected(client, { listServices: '' });
      const { service } = (answer as { listServicesResponse: { service: { name: string }[] } }).listServicesResponse;
      expect(service.map(({ name }) => name)).toEqual(
        expect.arrayContaining(['tollgate.ledger.v1.AlertService', 'tollgate.ledger.v1.LedgerService']),
      );
    });
  });
});

function reflectionClient(): ServiceClientConstructor {
  const proto = loadSync('grpc/reflection/v1/reflection.proto', { includeDirs: [join(root, 'proto')], oneofs: true });
  return loadPackageDefinition({ Reflection: proto['grpc.reflection.v1.ServerReflection']! })['Reflection'] as ServiceClientConstructor;
}

/** Sends one reflection request, and closes the stream. */
async function reflected(client: Client, question: object): Promise<unknown> {
  const stream = (
    client as unknown as { serverReflectionInfo(): NodeJS.ReadWriteStream & { write(message: object): void } }
  ).serverReflectionInfo();
  try {
    return await new Promise((resolve, reject) => {
      stream.once('data', resolve).once('error', reject);
      stream.write(question);
    });
  } finally {
    stream.end();
    client.close();
  }
}
