// What the chart renders runs: its containers are started with their arguments, variables, users and volumes, find each other by the names of
// their Services with certificates of the installation's authority, and serve a call. Needs root, iproute2 and util-linux.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { serviceNames } from '#rules/services.js';
import { startMariadb, type Mariadb } from '../../deploy/distributed/mariadb/mariadb.js';
import { readYamlDocuments } from '../../deploy/testing/yaml.js';
import { eventually, root, startScript } from '../support/systems/process.js';
import { type Container, helmTemplate, type Manifest, podsOf, type PodSpec, type Probe, tool } from './chart.js';
import { createNode, type Node, type Pod, secretOf } from './pods.js';

const values = [
  'redis.secretName=redis',
  'operator.enabled=true',
  'publicUrl=https://ai.example.com',
  'lameDuckSeconds=1',
  'database.migrationsSecretName=migrations',
];

describe('the pods of the chart', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-pods-'));
  const pods = new Map<string, PodSpec>();
  const running = new Map<string, Pod>();
  let database: Mariadb;
  let node: Node;
  let relay: Server;

  beforeAll(async () => {
    const tls = join(folder, 'tls');
    const create = startScript('dist/cli/main.js', ['certificate', 'create', '--out', tls, '--host', 'prod-tollgate-{service}.ai.svc'], {});
    expect(await new Promise((resolve) => create.process.once('close', resolve))).toBe(0);
    database = await startMariadb({ dataDir: join(folder, 'mariadb'), log: { info() {}, error() {} } });
    const text = await helmTemplate(...values.flatMap((value) => ['--set', value]));
    for (const [component, pod] of podsOf(readYamlDocuments<Manifest>(text))) pods.set(component, pod);
    const read = (path: string): string => readFileSync(path, 'utf8');
    node = createNode({
      folder: join(folder, 'node'),
      secrets: {
        'tollgate-database': databases((name) => database.url(`tollgate_${name}`)),
        migrations: databases((name) => database.migrationUrl(`tollgate_${name}`)),
        'tollgate-secret-keys': Object.fromEntries(
          ['auth', 'metering', 'inference'].map((name) => [name, Buffer.alloc(32, name).toString('base64')]),
        ),
        redis: { url: 'redis://10.77.0.1:6379' },
        ...Object.fromEntries(
          [...serviceNames, 'gateway', 'operator'].map((name) => [`prod-tollgate-${name}-tls`, secretOf(join(tls, name), read)]),
        ),
      },
    });
    // The database listens on this machine's loopback alone, which other networks do not reach, but all share its files.
    const path = join(folder, 'database');
    relay = createServer((socket) => pipe(socket, connect(database.port, '127.0.0.1'))).listen(path);
    node.background(
      process.execPath,
      '-e',
      `const { connect, createServer } = require('node:net'); const pipe = ${pipe.toString()};
      createServer((socket) => pipe(socket, connect(${JSON.stringify(path)}))).listen(3306, '${node.address}')`,
    );
    node.background('redis-server', '--bind', node.address, '--save', '', '--protected-mode', 'no', '--dir', folder);
  }, 120_000);

  afterAll(async () => {
    await node?.remove();
    relay?.close();
    await database?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  function start(component: string): Pod {
    const pod = node.start(pods.get(component)!);
    running.set(component, pod);
    node.name(`prod-tollgate-${component}.ai.svc`, [pod.address]);
    return pod;
  }

  /** Does what the kubelet does for a probe. Raises an Error if it fails. */
  async function probe({ address }: Pod, { httpGet, grpc }: Probe): Promise<void> {
    if (httpGet !== undefined) {
      const answer = await node.run('curl', '-s', '--max-time', '3', `http://${address}:8080${httpGet.path}`);
      expect(JSON.parse(answer)).toMatchObject({ status: 'ok' });
      return;
    }
    // Nothing but health checks is served there, so there is no reflection.
    const contract = ['-import-path', join(root, 'proto'), '-proto', 'grpc/health/v1/health.proto'];
    const request = JSON.stringify({ service: grpc!.service ?? '' });
    const to = [`${address}:${grpc!.port}`, 'grpc.health.v1.Health/Check'];
    const answer = await node.run(tool('grpcurl'), '-plaintext', '-max-time', '3', ...contract, '-d', request, ...to);
    expect(JSON.parse(answer)).toEqual({ status: 'SERVING' });
  }

  async function untilReady(component: string): Promise<void> {
    const [{ startupProbe, readinessProbe, livenessProbe }] = pods.get(component)!.containers as [Container];
    const pod = running.get(component)!;
    await eventually(async () => {
      for (const each of [startupProbe!, readinessProbe!, livenessProbe!]) await probe(pod, each);
      return true;
    }, 60_000).catch((error: unknown) => {
      throw new Error(`${component} did not become ready: ${String(error)}\n${pod.log()}`);
    });
  }

  async function operator(...args: string[]): Promise<string> {
    const pod = node.start(pods.get('operator')!, { args: ['dist/cli/main.js', ...args] });
    const code = await new Promise((resolve) => pod.process.once('close', resolve));
    expect({ args, code, log: pod.log() }).toMatchObject({ code: 0 });
    return pod.log();
  }

  it('bring the schemas up to date', async () => {
    const job = node.start(pods.get('migrations')!);
    const code = await new Promise((resolve) => job.process.once('close', resolve));
    expect({ code, log: job.log() }).toEqual({ code: 0, log: expect.stringContaining('0001-ledger') });
  }, 120_000);

  it('become ready by their probes', async () => {
    for (const name of [...serviceNames, 'gateway']) start(name);
    for (const name of [...serviceNames, 'gateway']) await untilReady(name);
  }, 240_000);

  it('serve a call that is charged', async () => {
    await operator('account', 'create', 'default');
    await operator('balance', 'deposit', '5');
    const { secret } = JSON.parse(await operator('key', 'create', '--name', 'first', '--json')) as { secret: string };
    const call = JSON.stringify({ model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] });
    const headers = ['-H', `authorization: Bearer ${secret}`, '-H', 'content-type: application/json'];
    const answer = await node.run(
      'curl',
      '-s',
      `http://${running.get('gateway')!.address}:8080/v1/chat/completions`,
      ...headers,
      '-d',
      call,
    );
    expect(JSON.parse(answer)).toMatchObject({ choices: [{ message: { content: 'Hello' } }] });
    await eventually(async () => {
      const [record] = (await operator('usage', 'list', '--json'))
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { outcome: string });
      return record?.outcome === 'completed' ? true : undefined;
    });
    await operator('ledger', 'verify');
  }, 240_000);

  it('publish their metrics', async () => {
    for (const [component, { address }] of running) {
      expect([component, await node.run('curl', '-sf', `http://${address}:9464/metrics`)]).toEqual([
        component,
        expect.stringContaining('target_info'),
      ]);
    }
  });

  it('cannot write to their root file system, and stop by themselves', async () => {
    const job = node.start(pods.get('migrations')!, { args: ['-e', "require('node:fs').writeFileSync('/app/x', '')"] });
    await new Promise((resolve) => job.process.once('close', resolve));
    expect(job.log()).toContain('EROFS');
    for (const name of ['gateway', ...serviceNames.toReversed()]) expect([name, await running.get(name)!.stop()]).toEqual([name, 0]);
  }, 240_000);
});

/** The urls of the databases by service, at the address of the node. */
function databases(url: (service: string) => string): Record<string, string> {
  return Object.fromEntries(serviceNames.map((name) => [name, url(name).replace(/@[^/]+/, '@10.77.0.1:3306')]));
}

/** Passes on what either sends. */
function pipe(one: Socket, other: Socket): void {
  one.pipe(other).pipe(one);
  for (const each of [one, other]) {
    each.on('error', () => {
      one.destroy();
      other.destroy();
    });
  }
}
