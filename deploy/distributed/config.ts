// Settings of the launcher. The settings of the processes are passed on to them.
import { duration, flag, integer, oneOf, type Environment, type Settings, type Values } from '#kit/config/settings.js';
import { singleSettings } from '../single/config.js';

/** Settings of the data folder, the first start, the ports and the database. */
export const distributedSettings = {
  ...singleSettings,
  port: integer('PORT', 'TCP port of the public HTTP address; 0 chooses a free one', { min: 0, max: 65_535, default: 8080 }),
  firstPort: integer(
    'TOLLGATE_DISTRIBUTED_FIRST_PORT',
    'first of the consecutive loopback ports of auth, catalog, ledger, metering, inference, the database (three ports for Galera) and Redis; 0 chooses free ones',
    { min: 0, max: 65_000, default: 7101 },
  ),
  database: oneOf(
    'TOLLGATE_DISTRIBUTED_DATABASE',
    'database of the services: one MariaDB, or a Galera cluster of three nodes (`make run-galera`)',
    ['mariadb', 'galera'],
    { default: 'mariadb' },
  ),
  binaryLogs: flag(
    'TOLLGATE_DISTRIBUTED_BINARY_LOGS',
    'whether the private MariaDB writes binary logs, with which `tollgate restore` can bring a backup to any later instant of the last 7 days',
    { default: false },
  ),
  logBytesMax: integer(
    'TOLLGATE_DISTRIBUTED_LOG_BYTES_MAX',
    'size in bytes at which the log file of a process is rotated; 0 disables this, for your own logrotate (with copytruncate)',
    { min: 0, max: 1024 * 1024 * 1024, default: 64 * 1024 * 1024 },
  ),
  logFilesKept: integer('TOLLGATE_DISTRIBUTED_LOG_FILES_KEPT', 'number of earlier log files that are kept for each process', {
    min: 0,
    max: 1000,
    default: 5,
  }),
  // Long enough not to spin on a process that cannot start, short enough that a killed process is hardly missed.
  restartDelayMs: duration('TOLLGATE_DISTRIBUTED_RESTART_DELAY', 'delay before a process that has ended is restarted', {
    minMs: 10,
    maxMs: 600_000,
    default: 300,
  }),
} satisfies Settings;

/** The parsed settings. */
export type DistributedConfig = Values<typeof distributedSettings>;

/** Returns the environment of the launcher. As in single mode, only warnings are logged on a terminal by default. */
export { terminalEnvironment as distributedEnvironment } from '../single/config.js';

const ofAProcess = /^TOLLGATE_((AUTH|CATALOG|LEDGER|METERING|INFERENCE|GATEWAY|SMTP)_|PROMPT_LOGGING$)/;

/** Returns the part of the environment that the launcher itself reads. Settings of a process are validated by that process. */
export function forLauncher(env: Environment): Environment {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !ofAProcess.test(name)));
}

/** Returns the part of the launcher's environment that the process `name` receives: its own settings and those of every process. */
export function passedOn(env: Environment, name: string): Record<string, string> {
  const own = `TOLLGATE_${name.toUpperCase()}_`;
  const common = [
    'TOLLGATE_LOG_LEVEL',
    'TOLLGATE_LAME_DUCK',
    'TOLLGATE_DRAIN_TIMEOUT',
    'TOLLGATE_INSTANCE_ID',
    'TOLLGATE_LOST_SECRET_KEY',
    'TOLLGATE_PROMPT_LOGGING',
    'TZ',
  ];
  // Settings of telemetry, Node (its compile cache, additional authorities for upstreams) and OpenSSL.
  const libraries = /^(OTEL_|NODE_|SSL_CERT_)/;
  // Auth sends mail; mails of auth and of the ledger name the address of the console.
  const outside = name === 'auth' ? /^TOLLGATE_(SMTP_|GATEWAY_PUBLIC_URL$)/ : name === 'ledger' ? /^TOLLGATE_GATEWAY_PUBLIC_URL$/ : /^$/;
  const vendor = name === 'inference' ? /^(OPENAI|ANTHROPIC)_/ : /^$/;
  return Object.fromEntries(
    Object.entries(env).filter(
      (entry): entry is [string, string] =>
        Boolean(entry[1]) &&
        (entry[0].startsWith(own) ||
          libraries.test(entry[0]) ||
          common.includes(entry[0]) ||
          outside.test(entry[0]) ||
          vendor.test(entry[0])),
    ),
  );
}
