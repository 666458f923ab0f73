// Where the CLI finds the gateway. The only place in the CLI that reads environment variables.
import { commonSettings, tlsOf } from '#kit/config/common.js';
import { optionalForm } from '#kit/config/forms.js';
import { traceUrl } from '#kit/config/trace-url.js';
import { mysqlUrl } from '#kit/db/mysql/address.js';
import { ConfigError, integer, optionalText, parseSettings, type Setting, text, type Settings } from '#kit/config/settings.js';
import type { Tls } from '#client/tls.js';
import { type ServiceName, serviceNames } from '#rules/services.js';

// Checked when it is used: the processes may have other databases, which no other command needs.
function ownDatabase(name: ServiceName): Setting<string | undefined> {
  return optionalText(
    `TOLLGATE_${name.toUpperCase()}_DATABASE_URL`,
    `database of ${name}, for \`tollgate backup\` if the databases are on several servers`,
    { secret: true },
  );
}

const { tlsCa, tlsCert, tlsKey } = commonSettings('operator');

/** All settings of the CLI. */
export const cliSettings = {
  dataDir: text('TOLLGATE_DATA_DIR', 'folder of the data of a single-process gateway, which also contains the socket for operators', {
    default: './data',
  }),
  port: integer(
    'PORT',
    'HTTP port of a gateway on this machine, for `tollgate doctor` and links into the console, unless TOLLGATE_GATEWAY_URL is set',
    { default: 8080, min: 0, max: 65_535 },
  ),
  gatewayUrl: optionalText(
    'TOLLGATE_GATEWAY_URL',
    'address of the gateway, for `tollgate doctor` and links into the console; if unset, that in operator.env in the data folder, or http://127.0.0.1:<PORT>',
  ),
  publicUrl: optionalText(
    'TOLLGATE_GATEWAY_PUBLIC_URL',
    'where browsers reach the gateway, for links into the console; if unset, the address of the gateway',
  ),
  traceUrl: {
    ...traceUrl,
    description: 'where traces can be opened, for links from calls; contains {trace_id}; if unset, only ids are shown',
  },
  auth: optionalText('TOLLGATE_AUTH_ADDRESS', 'host:port of the auth service of a distributed gateway'),
  catalog: optionalText('TOLLGATE_CATALOG_ADDRESS', 'host:port of the catalog service'),
  ledger: optionalText('TOLLGATE_LEDGER_ADDRESS', 'host:port of the ledger service'),
  metering: optionalText('TOLLGATE_METERING_ADDRESS', 'host:port of the metering service'),
  inference: optionalText('TOLLGATE_INFERENCE_ADDRESS', 'host:port of the inference service'),
  tlsCa,
  tlsCert,
  tlsKey,
  spoolDir: optionalText(
    'TOLLGATE_GATEWAY_SPOOL_DIR',
    'folder of the spool of a gateway on this machine, for `tollgate backup`; if unset, spool in TOLLGATE_DATA_DIR',
  ),
  backupDatabaseUrl: optionalForm(
    'TOLLGATE_BACKUP_DATABASE_URL',
    'server with the databases of a distributed gateway, for `tollgate backup`: mysql://user:password@host:port/, with a user that may read them',
    mysqlUrl,
    { secret: true },
  ),
  authDatabaseUrl: ownDatabase('auth'),
  catalogDatabaseUrl: ownDatabase('catalog'),
  ledgerDatabaseUrl: ownDatabase('ledger'),
  meteringDatabaseUrl: ownDatabase('metering'),
  inferenceDatabaseUrl: ownDatabase('inference'),
  restoreDatabaseUrl: optionalForm(
    'TOLLGATE_RESTORE_DATABASE_URL',
    'server to which `tollgate restore` restores a distributed gateway, with a user that may create databases; if unset, a private MariaDB in TOLLGATE_DATA_DIR',
    mysqlUrl,
    { secret: true },
  ),
  tlsCaKey: optionalText(
    'TOLLGATE_TLS_CA_KEY',
    'PEM file of the key of the certificate authority, with which `tollgate caller` issues certificates; if unset, ca.key next to the file of TOLLGATE_TLS_CA',
  ),
} satisfies Settings;

/** The addresses of the services. */
export type CliConfig = {
  readonly gatewayUrl: string;
  /** The address at which browsers reach it. */
  readonly publicUrl: string;
  /** The address of a trace, with {trace_id} in it. */
  readonly traceUrl?: string | undefined;
  /** Absent: the services are called without TLS. */
  readonly tls?: Tls;
  /** Files of the certificate authority, where they are set. */
  readonly tlsCaPath?: string | undefined;
  readonly tlsCaKeyPath?: string | undefined;
  /** The folder of a single process, of the launcher of a distributed gateway, or of what is restored. */
  readonly dataDir: string;
  /** Where the databases of a distributed gateway are read, for backups. */
  readonly databases: { readonly server: string | undefined } & Readonly<Record<ServiceName, string | undefined>>;
  readonly restoreDatabaseUrl: string | undefined;
  /** Absent: `spool` in the data folder. */
  readonly spoolDir: string | undefined;
} & ({ readonly mode: 'single' } | { readonly mode: 'distributed'; readonly addresses: Readonly<Record<ServiceName, string>> });

/** Parses the settings. Any service address selects distributed mode, which requires all of them. Raises ConfigError with every fault. */
export function parseCliConfig(env: Readonly<Record<string, string | undefined>>): CliConfig {
  const values = parseSettings(cliSettings, env);
  const gatewayUrl = withoutSlash(values.gatewayUrl ?? `http://127.0.0.1:${values.port}`);
  const tls = tlsOf(values);
  const publicUrl = withoutSlash(values.publicUrl ?? gatewayUrl);
  const paths = { tlsCaPath: values.tlsCa, tlsCaKeyPath: values.tlsCaKey };
  const { dataDir, restoreDatabaseUrl, spoolDir } = values;
  const databases = {
    server: values.backupDatabaseUrl,
    auth: values.authDatabaseUrl,
    catalog: values.catalogDatabaseUrl,
    ledger: values.ledgerDatabaseUrl,
    metering: values.meteringDatabaseUrl,
    inference: values.inferenceDatabaseUrl,
  };
  const common = {
    gatewayUrl,
    publicUrl,
    traceUrl: values.traceUrl,
    ...paths,
    dataDir,
    spoolDir,
    databases,
    restoreDatabaseUrl,
    ...(tls === undefined ? {} : { tls }),
  };
  const missing = serviceNames.filter((name) => values[name] === undefined);
  if (missing.length === serviceNames.length) return { ...common, mode: 'single' };
  if (missing.length > 0) {
    throw new ConfigError(
      missing.map(
        (name) => `${cliSettings[name].env} is required when the address of another service is set: ${cliSettings[name].description}`,
      ),
    );
  }
  return {
    ...common,
    mode: 'distributed',
    addresses: Object.fromEntries(serviceNames.map((name) => [name, values[name]!])) as Record<ServiceName, string>,
  };
}

/** Returns an address to which a path can be appended. */
function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '');
}
