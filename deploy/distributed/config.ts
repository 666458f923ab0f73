// Settings of the launcher. Those of the processes are passed on to them.
import { duration, integer, oneOf, type Environment, type Settings, type Values } from '#kit/config/settings.js';
import { singleSettings } from '../single/config.js';

/** Where data is kept, what the first start gives, and the ports. */
export const distributedSettings = {
  ...singleSettings,
  port: integer('PORT', 'TCP port of the public HTTP address; 0 takes a free one', { min: 0, max: 65_535, default: 8080 }),
  firstPort: integer(
    'TOLLGATE_DISTRIBUTED_FIRST_PORT',
    'loopback ports of auth, catalog, ledger, metering, inference and the database (three for Galera) from here on; 0 takes free ones',
    {
      min: 0,
      max: 65_000,
      default: 7101,
    },
  ),
  database: oneOf(
    'TOLLGATE_DISTRIBUTED_DATABASE',
    'what the services store in: one MariaDB, or a Galera cluster of three nodes (`make run-galera`)',
    ['mariadb', 'galera'],
    {
      default: 'mariadb',
    },
  ),
  // Long enough not to spin on a process that cannot start, short enough that a killed one is hardly missed.
  restartDelayMs: duration('TOLLGATE_DISTRIBUTED_RESTART_DELAY', 'how long after its end a process is started again', {
    minMs: 10,
    maxMs: 600_000,
    default: 300,
  }),
} satisfies Settings;

/** The parsed settings. */
export type DistributedConfig = Values<typeof distributedSettings>;

/** The environment of the launcher: as in single mode, a terminal shows warnings only. */
export { singleEnvironment as distributedEnvironment } from '../single/config.js';

const ofAProcess = /^TOLLGATE_(AUTH|CATALOG|LEDGER|METERING|INFERENCE|GATEWAY|SMTP)_/;

/** What the launcher itself is to see of its environment: a setting of one process is for that process to judge. */
export function forLauncher(env: Environment): Environment {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !ofAProcess.test(name)));
}

/** What a process of this name is to see of the launcher's environment: its own settings and those of every process. */
export function passedOn(env: Environment, name: string): Record<string, string> {
  const own = `TOLLGATE_${name.toUpperCase()}_`;
  const common = ['TOLLGATE_LOG_LEVEL', 'TOLLGATE_DRAIN_TIMEOUT', 'TOLLGATE_INSTANCE_ID', 'TZ'];
  // Of telemetry, of Node (its compile cache, more authorities for upstreams) and of OpenSSL.
  const libraries = /^(OTEL_|NODE_|SSL_CERT_)/;
  // Who sends mail, and what says where the console is.
  const outside = name === 'ledger' || name === 'auth' ? /^TOLLGATE_(SMTP_|GATEWAY_PUBLIC_URL$)/ : /^$/;
  const vendor = name === 'inference' ? /^(OPENAI|ANTHROPIC)_/ : /^$/;
  return Object.fromEntries(
    Object.entries(env).filter(
      (entry): entry is [string, string] =>
        entry[1] !== undefined &&
        (entry[0].startsWith(own) ||
          libraries.test(entry[0]) ||
          common.includes(entry[0]) ||
          outside.test(entry[0]) ||
          vendor.test(entry[0])),
    ),
  );
}
