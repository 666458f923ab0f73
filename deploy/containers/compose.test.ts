import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { parseSettings, type Setting } from '#kit/config/settings.js';
import { serviceNames } from '#rules/services.js';
import { type ProcessName, processSettings } from '../testing/process-settings.js';
import { readYaml } from '../testing/yaml.js';

interface Volume {
  readonly source: string;
  readonly target: string;
  readonly volume?: { readonly subpath?: string };
}
interface Service {
  readonly image: string;
  readonly build?: object;
  readonly user?: string;
  readonly init?: boolean;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly logging?: { readonly options: Readonly<Record<string, string>> };
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly depends_on?: Readonly<Record<string, { condition: string }>>;
  readonly networks?: readonly string[];
  readonly volumes?: readonly (string | Volume)[];
  readonly ports?: readonly string[];
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
}

const compose = readYaml<{
  services: Record<string, Service>;
  networks: Record<string, { internal?: boolean } | null>;
  volumes: Record<string, object | null>;
}>(readFileSync(new URL('compose.yaml', import.meta.url), 'utf8'));
const containers = Object.entries(compose.services);
const processes = [...serviceNames, 'gateway', 'operator'] as const satisfies readonly ProcessName[];

/** The environment of a container when `.env` has these variables, as compose fills them in. */
function environment(name: string, given: Readonly<Record<string, string>> = {}): Record<string, string> {
  const filled = (value: string): string =>
    value.replaceAll(/\$\{(\w+)(?:(:?[-?])((?:\$\{[^}]*\}|[^}])*))?\}/g, (_, variable: string, kind = '', standard = '') =>
      kind.endsWith('?') ? (given[variable] ?? 'secret') : (given[variable] ?? filled(standard)),
    );
  return Object.fromEntries(Object.entries(compose.services[name]!.environment ?? {}).map(([key, value]) => [key, filled(String(value))]));
}

describe('compose.yaml', () => {
  it.each(processes)('gives %s settings that it knows and accepts', (name) => {
    const given = { PUBLIC_URL: 'https://ai.example.com', TRUST_PROXY: 'true', SMTP_URL: 'smtp://mail:25', SMTP_FROM: 'a@example.com' };
    for (const each of [{}, given]) {
      expect(() => parseSettings(processSettings[name], environment(name, each), [`TOLLGATE_${name.toUpperCase()}_`])).not.toThrow();
    }
    const known = new Set(Object.values<Setting<unknown>>(processSettings[name]).map(({ env }) => env));
    expect(Object.keys(environment(name)).filter((variable) => !known.has(variable))).toEqual(
      // The command ignores what all processes have in common.
      name === 'operator' ? ['TOLLGATE_LOG_LEVEL', 'OTEL_EXPORTER_OTLP_ENDPOINT'] : [],
    );
  });

  it('limits the size of every log', () => {
    for (const [, { logging }] of containers) expect(logging?.options).toMatchObject({ 'max-size': '50m', 'max-file': '5' });
  });

  it('passes the public address to every process that uses it, and trust in proxies to the gateway', () => {
    const using = processes.filter((name) =>
      Object.values<Setting<unknown>>(processSettings[name]).some(({ env }) => env === 'TOLLGATE_GATEWAY_PUBLIC_URL'),
    );
    expect(using.length).toBeGreaterThan(2);
    for (const name of using) {
      expect([name, environment(name, { PUBLIC_URL: 'https://ai.example.com' })['TOLLGATE_GATEWAY_PUBLIC_URL']]).toEqual([
        name,
        'https://ai.example.com',
      ]);
    }
    expect(environment('operator', { PORT: '9000' })['TOLLGATE_GATEWAY_PUBLIC_URL']).toBe('http://127.0.0.1:9000');
    expect(environment('gateway', { TRUST_PROXY: 'true' })['TOLLGATE_GATEWAY_TRUST_PROXY']).toBe('true');
  });

  it('lets processes find each other where they listen, with mutual TLS and their own certificates only', () => {
    for (const name of processes) {
      const { TOLLGATE_TRUST_NETWORK, TOLLGATE_TLS_CERT, ...env } = environment(name);
      expect([TOLLGATE_TRUST_NETWORK, TOLLGATE_TLS_CERT]).toEqual([undefined, '/etc/tollgate/tls/tls.crt']);
      const tls = compose.services[name]!.volumes!.filter((volume) => typeof volume === 'object' && volume.source === 'tls') as Volume[];
      expect(tls.map(({ target, volume }) => [target, volume?.subpath])).toEqual([['/etc/tollgate/tls', name]]);
      for (const [variable, address] of Object.entries(env).filter(([key]) => key.endsWith('_ADDRESS'))) {
        const callee = variable.replace(/^TOLLGATE_(\w+)_ADDRESS$/, '$1').toLowerCase();
        expect(address).toBe(environment(callee)[`TOLLGATE_${callee.toUpperCase()}_LISTEN`]!.replace('0.0.0.0', callee));
        expect(compose.services[callee]!.networks).toContain('services');
      }
    }
  });

  it('gives the collector an address for logs, without which it does not start', () => {
    const traces = { TRACES_ENDPOINT: 'http://tempo:4318' };
    expect(environment('collector', traces)).toEqual({ ...traces, LOGS_ENDPOINT: 'http://tempo:4318' });
    const logs = { LOGS_ENDPOINT: 'http://loki:3100/otlp' };
    expect(environment('collector', { ...traces, ...logs })).toEqual({ ...traces, ...logs });
  });

  it('gives each service a database of its own, with a password of its own', () => {
    const urls = serviceNames.map(
      (name) =>
        environment(name, { [`${name.toUpperCase()}_DATABASE_PASSWORD`]: `of-${name}` })[`TOLLGATE_${name.toUpperCase()}_DATABASE_URL`],
    );
    expect(urls).toEqual(serviceNames.map((name) => `mysql://tollgate_${name}:of-${name}@mariadb:3306/tollgate_${name}`));
  });

  it.each(containers)('runs %s without root, capabilities or a writable root file system, from a pinned image', (_name, service) => {
    expect(service).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      user: expect.stringMatching(/^(?!root|0)/),
    });
    if (service.build === undefined) expect(service.image).toMatch(/^[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}$/);
  });

  it('lets every program of ours receive signals', () => {
    const ours = containers.filter(([, { build }]) => build !== undefined);
    expect(ours.filter(([, { init }]) => init !== true).map(([name]) => name)).toEqual([]);
  });

  it('checks the health of every container that keeps running', () => {
    const without = ['certificates', 'migrate', 'collector', 'operator'];
    expect(containers.filter(([, { healthcheck }]) => healthcheck === undefined).map(([name]) => name)).toEqual(without);
    for (const name of serviceNames) {
      expect(compose.services[name]!.healthcheck!.test.at(-1)).toBe(environment(name)[`TOLLGATE_${name.toUpperCase()}_HEALTH_LISTEN`]);
    }
  });

  it('publishes the gateway and Prometheus, on this machine only, and keeps databases from other networks', () => {
    expect(containers.filter(([, { ports }]) => ports !== undefined).map(([name, { ports }]) => [name, ports])).toEqual([
      ['gateway', ['127.0.0.1:${PORT:-8080}:8080']],
      ['prometheus', ['127.0.0.1:${PROMETHEUS_PORT:-9090}:9090']],
    ]);
    expect(['mariadb', 'redis'].map((name) => compose.services[name]!.networks)).toEqual([['databases'], ['limits']]);
    expect(Object.entries(compose.networks).flatMap(([name, network]) => (network?.internal === true ? [] : [name]))).toEqual([
      'prometheus',
      'outside',
    ]);
  });

  it('has the volumes that README.md says to back up, and no others with data', () => {
    const readme = readFileSync(new URL('README.md', import.meta.url), 'utf8');
    const listed = /\*\*Backups\*\*: (.*?)\./s.exec(readme)![1]!;
    const names = [...listed.matchAll(/`(\w+)`/g)].map(([, name]) => name);
    expect(names.toSorted()).toEqual(
      Object.keys(compose.volumes)
        .filter((name) => name !== 'prometheus')
        .toSorted(),
    );
  });
});

describe('prometheus.yaml', () => {
  it('scrapes every process where it publishes its metrics', () => {
    const scraped = readYaml<{ scrape_configs: { static_configs: { targets: string[] }[] }[] }>(
      readFileSync(new URL('prometheus.yaml', import.meta.url), 'utf8'),
    );
    const targets = scraped.scrape_configs[0]!.static_configs[0]!.targets;
    const published = containers.flatMap(([name]) =>
      Object.entries(environment(name)).flatMap(([key, value]) =>
        key.endsWith('_METRICS_LISTEN') ? [value.replace('0.0.0.0', name)] : [],
      ),
    );
    expect(targets.toSorted()).toEqual(published.toSorted());
  });
});

describe('the Dockerfile', () => {
  const dockerfile = readFileSync(new URL('Dockerfile', import.meta.url), 'utf8');

  it('builds on pinned images and runs as a user that is not root', () => {
    const bases = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image);
    expect(new Set(bases).size).toBe(1);
    expect(bases[0]).toMatch(/^node:24\.\d+\.\d+-bookworm-slim@sha256:[0-9a-f]{64}$/);
    expect(dockerfile).toMatch(/^USER 1000:1000$/m);
    expect(dockerfile).toMatch(/^HEALTHCHECK /m);
  });
});
