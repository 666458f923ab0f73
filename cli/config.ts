// Where the command finds the gateway: the only place of the command that knows environment variables.
import { ConfigError, integer, optionalText, parseSettings, text, type Settings } from '#kit/config/settings.js';

/** The services that the command talks to. */
export const serviceNames = ['auth', 'catalog', 'ledger', 'metering', 'inference'] as const;

/** One of the services. */
export type ServiceName = (typeof serviceNames)[number];

/** All settings of the command. */
export const cliSettings = {
  dataDir: text('TOLLGATE_DATA_DIR', 'Folder of the data of a single-process gateway; its socket for operators is in it.', { default: './data' }),
  port: integer('PORT', 'HTTP port of a gateway on this machine, for `tollgate doctor`.', { default: 8080, min: 1, max: 65_535 }),
  gatewayUrl: optionalText('TOLLGATE_GATEWAY_URL', 'Address of the gateway, for `tollgate doctor`; absent: http://127.0.0.1:<PORT>.'),
  auth: optionalText('TOLLGATE_AUTH_ADDRESS', 'host:port of the auth service of a distributed gateway.'),
  catalog: optionalText('TOLLGATE_CATALOG_ADDRESS', 'host:port of the catalog service.'),
  ledger: optionalText('TOLLGATE_LEDGER_ADDRESS', 'host:port of the ledger service.'),
  metering: optionalText('TOLLGATE_METERING_ADDRESS', 'host:port of the metering service.'),
  inference: optionalText('TOLLGATE_INFERENCE_ADDRESS', 'host:port of the inference service.'),
  tlsCa: optionalText('TOLLGATE_TLS_CA', 'File (PEM) of the authority that signed the certificates of a distributed gateway.'),
  tlsCert: optionalText('TOLLGATE_TLS_CERT', "File (PEM) of the operator's certificate; its common name is `operator`."),
  tlsKey: optionalText('TOLLGATE_TLS_KEY', "File (PEM) of that certificate's key."),
} satisfies Settings;

/** Where the services are. */
export type CliConfig = {
  readonly gatewayUrl: string;
  /** Files; absent: no TLS. */
  readonly tls?: { readonly ca: string; readonly cert: string; readonly key: string };
} & (
  | { readonly mode: 'single'; readonly dataDir: string }
  | { readonly mode: 'distributed'; readonly addresses: Readonly<Record<ServiceName, string>> }
);

/** Reads the settings: with any service address it is the distributed mode and needs all. Raises ConfigError with every fault. */
export function parseCliConfig(env: Readonly<Record<string, string | undefined>>): CliConfig {
  const values = parseSettings(cliSettings, env);
  const gatewayUrl = values.gatewayUrl ?? `http://127.0.0.1:${values.port}`;
  const addresses = allOrNone(values, serviceNames);
  const tls = allOrNone(values, ['tlsCa', 'tlsCert', 'tlsKey']);
  return {
    gatewayUrl,
    ...(tls === undefined ? {} : { tls: { ca: tls.tlsCa, cert: tls.tlsCert, key: tls.tlsKey } }),
    ...(addresses === undefined ? { mode: 'single', dataDir: values.dataDir } : { mode: 'distributed', addresses }),
  };
}

function allOrNone<K extends ServiceName | 'tlsCa' | 'tlsCert' | 'tlsKey'>(
  values: Readonly<Record<K, string | undefined>>,
  names: readonly K[],
): Record<K, string> | undefined {
  const missing = names.filter((name) => values[name] === undefined);
  if (missing.length === names.length) return undefined;
  if (missing.length === 0) return values as Record<K, string>;
  const present = names.find((name) => values[name] !== undefined)!;
  throw new ConfigError(missing.map((name) => `${cliSettings[name].env} is required beside ${cliSettings[present].env}: ${cliSettings[name].description}`));
}
