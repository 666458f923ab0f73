// Settings of the single process beside those of its parts.
import { type Environment, optionalText, type Setting, type Settings, text, type Values } from '#kit/config/settings.js';
import { formatUsd, parseUsd } from '#rules/money.js';

/** Where data is kept and what the first start gives. */
export const singleSettings = {
  dataDir: text('TOLLGATE_DATA_DIR', 'folder of the databases, the secret key and the operator’s socket', { default: './data' }),
  operatorEmail: text(
    'TOLLGATE_OPERATOR_EMAIL',
    'e-mail address of the operator that the first start makes; they may change it in the console',
    { default: 'operator@localhost' },
  ),
  startingBalanceNanoUsd: {
    env: 'TOLLGATE_STARTING_BALANCE_USD',
    description: 'what the first account is given at the first start, in USD',
    default: 5_000_000_000n,
    show: formatUsd,
    parse(value: string): bigint {
      const amount = parseUsd(value);
      if (amount === undefined || amount < 0n) throw new Error('must be an amount such as "5" or "0.25"');
      return amount;
    },
  },
} satisfies Settings;

/** Where callers on other machines find the services of a single process. */
export const grpcSettings = {
  listen: optionalText(
    'TOLLGATE_GRPC_LISTEN',
    'host:port where the single process serves gRPC with mutual TLS, for callers of `tollgate caller add`; without it only the operator’s socket is served',
  ),
  hosts: {
    env: 'TOLLGATE_GRPC_HOSTS',
    description:
      'names and addresses, separated by commas, by which those callers reach it beside localhost and the name of the machine; the server’s certificate has them',
    default: [],
    show: (hosts) => hosts.join(','),
    parse(value) {
      const hosts = value.split(',').map((host) => host.trim());
      if (hosts.length > 20 || !hosts.every((host) => /^[A-Za-z0-9._:-]{1,253}$/.test(host)))
        throw new Error('must be at most 20 names or addresses, separated by commas');
      return hosts;
    },
  } satisfies Setting<readonly string[]>,
} satisfies Settings;

/** The parsed settings. */
export type SingleConfig = Values<typeof singleSettings>;

/** The environment of the process: on a terminal, lines of every request would bury what a person reads, so only warnings stay. */
export function singleEnvironment(isTerminal: boolean): Environment {
  return isTerminal ? { TOLLGATE_LOG_LEVEL: 'warn', ...process.env } : process.env;
}
