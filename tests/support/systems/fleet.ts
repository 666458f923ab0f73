// A Tollgate with several replicas of every process, each started and stopped by itself, as on several machines: mutual TLS, one MariaDB.
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { AuthServiceDefinition } from '#proto/auth/v1/auth.js';
import { CatalogServiceDefinition } from '#proto/catalog/v1/catalog.js';
import { InferenceServiceDefinition } from '#proto/inference/v1/inference.js';
import { LedgerServiceDefinition } from '#proto/ledger/v1/ledger.js';
import { MeteringServiceDefinition } from '#proto/metering/v1/metering.js';
import { dialGrpc } from '#client/grpc/grpc-client.js';
import { readTls } from '#client/tls.js';
import { checkHealth } from '#kit/rpc/grpc/health-client.js';
import { silentLog } from '#kit/testing/log.js';
import { issueCertificate } from '#kit/tls/authority.js';
import { type CertificateFiles, ensureAuthority, ensureCertificate, writePair } from '#kit/tls/certificate-files.js';
import { type Mariadb, startMariadb } from '../../../deploy/distributed/mariadb/mariadb.js';
import { runCommand } from '../clients/command-runner.js';
import { freePorts } from './ports.js';
import { type Child, eventually, NeverWill, startScript } from './process.js';
import { copySystemTables } from '../jest/system-tables.js';
import type { System } from './system.js';

const definitions = {
  auth: AuthServiceDefinition,
  catalog: CatalogServiceDefinition,
  ledger: LedgerServiceDefinition,
  metering: MeteringServiceDefinition,
  inference: InferenceServiceDefinition,
} as const;

type ServiceName = keyof typeof definitions;
const serviceNames = Object.keys(definitions) as ServiceName[];
const readyMsMax = 60_000;

/** A process of the fleet. */
export interface Member {
  readonly name: ServiceName | 'gateway';
  /** From 0. */
  readonly replica: number;
  /** Its gRPC port, or that of its HTTP address. */
  readonly port: number;
  /** Its HTTP address; undefined: it is a service. */
  readonly baseUrl: string | undefined;
  isRunning(): boolean;
  /** Starts it and waits until it is ready. */
  start(): Promise<void>;
  /** Returns what it has printed since its last start. */
  output(): string;
  /** Sends a signal that does not end it. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void;
  /** Returns its exit code, or null after a fatal signal. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

/** Options of `startFleet`. */
export interface FleetOptions {
  readonly replicas: number;
  /** How many replicas of each process are started; by default all. */
  readonly started?: number;
  /** Settings of every process, in addition to those of the fleet. */
  readonly env?: Readonly<Record<string, string>>;
  /** Returns the folder of the build that a process is started from; by default this checkout's. */
  readonly distOf?: (member: Pick<Member, 'name'>, replica: number) => string;
}

/** A running fleet with one account and one key. */
export interface Fleet extends Pick<System, 'cli' | 'json'> {
  /** The gateways first, then the services. */
  readonly members: readonly Member[];
  readonly accountId: string;
  readonly key: string;
  /** The URL of the database server for a user with all privileges. */
  readonly adminUrl: string;
  /** Replaces every certificate by a new one of the same authority, as a renewal does. Returns the serial number of each, by common name. */
  renewCertificates(): Promise<ReadonlyMap<string, string>>;
  /** Returns the serial number of the certificate that a service presents to new connections. */
  serialOf(member: Member): Promise<string>;
  stop(): Promise<void>;
}

/** Starts the processes and waits until all of them are ready. */
export async function startFleet({ replicas, started = replicas, env = {}, distOf = () => 'dist' }: FleetOptions): Promise<Fleet> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-e2e-'));
  const dataDir = join(folder, 'mariadb');
  copySystemTables(dataDir);
  const mariadb: Mariadb = await startMariadb({ dataDir, log: silentLog });
  const certificates = new Map<string, CertificateFiles>();
  for (const name of [...serviceNames, 'gateway', 'operator'])
    certificates.set(name, await ensureCertificate(join(folder, 'tls'), name, { isClient: true, hosts: ['localhost', '127.0.0.1'] }));
  const ports = new Map<ServiceName, number[]>();
  const portsOfReplicas = async (): Promise<number[]> => {
    const first = await freePorts(replicas);
    return Array.from({ length: replicas }, (_, replica) => first + replica);
  };
  for (const name of serviceNames) ports.set(name, await portsOfReplicas());
  const addresses = Object.fromEntries(
    [...ports].map(([name, own]) => [`TOLLGATE_${name.toUpperCase()}_ADDRESS`, `ipv4:${own.map((port) => `127.0.0.1:${port}`).join(',')}`]),
  );
  const envOf = (name: string): Record<string, string> => {
    const { ca, cert, key } = certificates.get(name)!;
    return { ...addresses, TOLLGATE_TLS_CA: ca, TOLLGATE_TLS_CERT: cert, TOLLGATE_TLS_KEY: key, ...env };
  };

  function member(
    { name, replica, port }: Pick<Member, 'name' | 'replica' | 'port'>,
    own: Record<string, string>,
    isReady: () => Promise<boolean>,
  ): Member {
    let child: Child | undefined;
    const script = name === 'gateway' ? 'gateway/main.js' : `services/${name}/main.js`;
    return {
      name,
      replica,
      port,
      baseUrl: name === 'gateway' ? `http://127.0.0.1:${port}` : undefined,
      isRunning: () => child !== undefined && child.process.exitCode === null && child.process.signalCode === null,
      async start() {
        const started = startScript(join(distOf({ name }, replica), script), [], { ...envOf(name), ...own });
        child = started;
        await eventually(async () => {
          if (started.process.exitCode !== null) throw new NeverWill(`${name} exited: ${started.stdout()}${started.stderr()}`);
          return (await isReady()) ? true : undefined;
        }, readyMsMax);
      },
      output: () => (child === undefined ? '' : child.stdout() + child.stderr()),
      signal: (signal) => void child?.process.kill(signal),
      end: async (signal) => child?.end(signal) ?? 0,
    };
  }

  function service(name: ServiceName, replica: number): Member {
    const port = ports.get(name)![replica]!;
    const prefix = `TOLLGATE_${name.toUpperCase()}_`;
    const settings = {
      [`${prefix}LISTEN`]: `127.0.0.1:${port}`,
      [`${prefix}DATABASE_URL`]: mariadb.url(`tollgate_${name}`),
      [`${prefix}MIGRATION_DATABASE_URL`]: mariadb.migrationUrl(`tollgate_${name}`),
      ...(['auth', 'metering', 'inference'].includes(name) ? { [`${prefix}SECRET_KEY_FILE`]: join(folder, `${name}-secret-key`) } : {}),
    };
    return member({ name, replica, port }, settings, async () => {
      const connection = dialGrpc(`localhost:${port}`, { caller: 'operator', service: name, tls: readTls(certificates.get('operator')!) });
      const serves = checkHealth(connection, definitions[name].fullName, { caller: 'operator', timeoutMs: 2000 });
      return serves
        .then(
          () => true,
          () => false,
        )
        .finally(() => connection.close());
    });
  }

  const gatewayPorts = await portsOfReplicas();
  const gateways = gatewayPorts.map((port, replica) =>
    member(
      { name: 'gateway', replica, port },
      { PORT: String(port), TOLLGATE_GATEWAY_SPOOL_DIR: join(folder, `spool-${replica}`) },
      async () => {
        const { status } = await fetch(`http://127.0.0.1:${port}/readyz`);
        return status === 200;
      },
    ),
  );
  const services = serviceNames.flatMap((name) => Array.from({ length: replicas }, (_, replica) => service(name, replica)));
  const members = [...gateways, ...services];

  async function cli(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await runCommand(args, { ...envOf('operator'), TOLLGATE_GATEWAY_URL: gateways[0]!.baseUrl! });
    if (code !== 0) throw new Error(`tollgate ${args.join(' ')} ended with ${code}: ${stdout}${stderr}`);
    return stdout;
  }

  const fleet = {
    members,
    adminUrl: mariadb.adminUrl,
    cli,
    json: async <T>(...args: string[]) => JSON.parse(await cli(...args, '--json')) as T,
    async renewCertificates() {
      const authority = await ensureAuthority(join(folder, 'tls'));
      const serials = new Map<string, string>();
      for (const [commonName, files] of certificates) {
        const issued = await issueCertificate(authority, { commonName, days: 1, isClient: true, hosts: ['localhost', '127.0.0.1'] });
        writePair(files, issued);
        serials.set(commonName, new X509Certificate(issued.cert).serialNumber);
      }
      return serials;
    },
    serialOf: ({ port }: Member) =>
      new Promise<string>((resolve, reject) => {
        const own = readTls(certificates.get('operator')!);
        const socket = connect({ ...own, host: '127.0.0.1', port, servername: 'localhost', ALPNProtocols: ['h2'] }, () => {
          resolve(socket.getPeerX509Certificate()!.serialNumber);
          socket.destroy();
        });
        socket.once('error', reject);
      }),
    async stop() {
      await Promise.all(gateways.map((each) => each.end('SIGINT')));
      await Promise.all(services.map((each) => each.end('SIGINT')));
      await mariadb.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  await Promise.all(members.filter(({ replica }) => replica < started).map((each) => each.start()));
  const { id: accountId } = await fleet.json<{ id: string }>('account', 'create', 'first');
  await cli('balance', 'deposit', '100', '--account', accountId);
  const { secret: key } = await fleet.json<{ secret: string }>('key', 'create', '--name', 'first', '--account', accountId);
  return { ...fleet, accountId, key };
}
