// Settings of the single process, in addition to those of its parts.
import { hostAndPort, isEmailAddress, isHost, optionalForm } from '#kit/config/forms.js';
import { type Environment, integer, oneOf, type Setting, type Settings, text } from '#kit/config/settings.js';
import { lostSecretKey } from '#kit/secrets/secret-keeper.js';
import { formatUsd, parseUsd } from '#rules/money/money.js';

/** Settings of the data folder and the first start. */
export const singleSettings = {
  dataDir: text('TOLLGATE_DATA_DIR', "folder for the databases, the secret key and the operator's socket", { default: './data' }),
  lostSecretKey,
  operatorEmail: {
    env: 'TOLLGATE_OPERATOR_EMAIL',
    description: 'email address of the operator that the first start creates; the operator can change it in the console',
    default: 'operator@localhost',
    parse(value: string): string {
      if (!isEmailAddress(value.trim())) throw new Error('must be an email address');
      return value;
    },
  },
  startingBalanceNanoUsd: {
    env: 'TOLLGATE_STARTING_BALANCE_USD',
    description: 'balance of the account that the first start creates, in USD',
    default: 5_000_000_000n,
    show: formatUsd,
    parse(value: string): bigint {
      const amount = parseUsd(value);
      if (amount === undefined || amount < 0n) throw new Error('must be an amount such as "5" or "0.25"');
      return amount;
    },
  },
} satisfies Settings;

/** Settings of what only a single process has. */
export const inProcessSettings = {
  messages: oneOf(
    'TOLLGATE_SINGLE_MESSAGES',
    'how messages pass between the services of the single process: `shared`; for development `frozen`, in which a service that changes a message fails, or `encoded`, as over gRPC',
    ['shared', 'frozen', 'encoded'],
    { default: 'shared' },
  ),
  gatewayThreads: {
    ...integer(
      'TOLLGATE_GATEWAY_THREADS',
      'number of threads that serve HTTP, in addition to the thread of the services and their databases; with 0 everything is in one thread; if unset, one less than the machine has cores, at most 4, on Linux with four or more cores, and 0 elsewhere',
      { min: 0, max: 64, default: 0 },
    ),
    default: undefined,
  } satisfies Setting<number | undefined>,
} satisfies Settings;

/** Settings of the gRPC address of a single process, for callers on other machines. */
export const grpcSettings = {
  listen: optionalForm(
    'TOLLGATE_GRPC_LISTEN',
    "host:port where the single process serves gRPC with mutual TLS, for callers added with `tollgate caller add`; if unset, only the operator's socket is served",
    hostAndPort,
  ),
  hosts: {
    env: 'TOLLGATE_GRPC_HOSTS',
    description:
      "additional host names and addresses for the server's certificate, separated by commas; it always contains localhost and the name of the machine",
    default: [],
    show: (hosts) => hosts.join(','),
    parse(value) {
      const hosts = value.split(',').map((host) => host.trim());
      if (hosts.length > 20 || !hosts.every(isHost)) throw new Error('must be at most 20 names or addresses, separated by commas');
      return hosts;
    },
  } satisfies Setting<readonly string[]>,
} satisfies Settings;

/**
 * Defaults of a process that is the only user of its databases: no other process changes them, so an idle process need not poll several times a
 * second.
 */
const aloneDefaults: Environment = {
  TOLLGATE_AUTH_HEARTBEAT_INTERVAL: '625ms',
  TOLLGATE_CATALOG_POLL_INTERVAL: '5s',
  TOLLGATE_CATALOG_HEARTBEAT_INTERVAL: '2s',
  TOLLGATE_METERING_OUTBOX_POLL: '1s',
};

/** Returns the environment of the single process. */
export function singleEnvironment(isTerminal: boolean): Environment {
  return { ...aloneDefaults, ...terminalEnvironment(isTerminal) };
}

/** Returns the environment of a process. On a terminal only warnings are logged by default, because a line per request would bury the output. */
export function terminalEnvironment(isTerminal: boolean): Environment {
  return isTerminal ? { TOLLGATE_LOG_LEVEL: 'warn', ...process.env } : process.env;
}
