// Settings that every process has.
import { hostname } from 'node:os';
import { logLevels } from '../log.js';
import { TlsFiles } from '#client/tls-files.js';
import { ConfigError, duration, flag, integer, oneOf, optionalText, type Values } from './settings.js';
import { hostAndPort, optionalForm } from './forms.js';
import { otelSettings } from './otel/settings.js';

/** Returns the settings for logs, telemetry, certificates and shutdown. `name` is the name of the process: "ledger". */
export function commonSettings(name: string) {
  return {
    logLevel: oneOf(
      'TOLLGATE_LOG_LEVEL',
      'minimum level of log lines; those below warn are written together, up to 250 ms late, and a process that is killed loses them',
      logLevels,
      { default: 'info' },
    ),
    ...otelSettings,
    otelMetricsIntervalMs: integer('OTEL_METRIC_EXPORT_INTERVAL', 'how often metrics are sent, in milliseconds', {
      min: 100,
      max: 3_600_000,
      default: 60_000,
    }),
    metricsListen: optionalForm(
      `TOLLGATE_${name.toUpperCase()}_METRICS_LISTEN`,
      'host:port where this process serves its metrics to Prometheus at GET /metrics; if unset, it serves none',
      hostAndPort,
    ),
    instanceId: optionalText(
      'TOLLGATE_INSTANCE_ID',
      'identifies this replica in telemetry; if unset, service.instance.id of OTEL_RESOURCE_ATTRIBUTES, or the host name',
    ),
    tlsCa: optionalText('TOLLGATE_TLS_CA', 'PEM file of the certificate authority of the installation'),
    tlsCert: optionalText(
      'TOLLGATE_TLS_CERT',
      "PEM file of this process's certificate; its common name is the process's name, which clients check",
    ),
    tlsKey: optionalText('TOLLGATE_TLS_KEY', "PEM file of this process's private key"),
    trustNetwork: flag('TOLLGATE_TRUST_NETWORK', 'accept callers without certificates on addresses that are not loopback', {
      default: false,
    }),
    lameDuckMs: duration(
      'TOLLGATE_LAME_DUCK',
      'how long a process continues to serve after SIGTERM while it reports that it is not ready, so that load balancers switch to other replicas first; SIGINT skips this',
      { default: 5000, minMs: 0, maxMs: 600_000 },
    ),
    drainTimeoutMs: duration('TOLLGATE_DRAIN_TIMEOUT', 'how long calls in flight may take to complete at shutdown', {
      // Together with the lame-duck time, less than the 30 s that Kubernetes gives a pod by default.
      default: 20_000,
      minMs: 0,
      maxMs: 600_000,
    }),
  };
}

/** The values of `commonSettings`. */
export type CommonConfig = Values<ReturnType<typeof commonSettings>>;

/** Returns the service.name and service.instance.id of the process called `name`. */
export function identityOf(
  name: string,
  { otelServiceName, otelResourceAttributes: attributes, instanceId }: CommonConfig,
): { readonly serviceName: string; readonly instanceId: string } {
  return {
    serviceName: otelServiceName ?? attributes['service.name'] ?? `tollgate-${name}`,
    instanceId: instanceId ?? attributes['service.instance.id'] ?? hostname(),
  };
}

/** Returns the certificates, or undefined when none are set. Raises ConfigError when only some are set or a file cannot be used. */
export function tlsOf(config: Pick<CommonConfig, 'tlsCa' | 'tlsCert' | 'tlsKey'>): TlsFiles | undefined {
  const { tlsCa: ca, tlsCert: cert, tlsKey: key } = config;
  if (ca === undefined && cert === undefined && key === undefined) return undefined;
  if (ca === undefined || cert === undefined || key === undefined) {
    throw new ConfigError(['TOLLGATE_TLS_CA, TOLLGATE_TLS_CERT and TOLLGATE_TLS_KEY must be set together']);
  }
  try {
    return new TlsFiles({ ca, cert, key });
  } catch (error) {
    throw new ConfigError([`A file of TOLLGATE_TLS_CA, TOLLGATE_TLS_CERT or TOLLGATE_TLS_KEY cannot be used: ${(error as Error).message}`]);
  }
}
