// The Helm chart, as Helm renders it: valid for Kubernetes, and right for the processes. Needs Helm and kubeconform, which `make nightly` builds.
import { beforeAll, describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSettings, type Setting } from '#kit/config/settings.js';
import { serviceNames } from '#rules/services.js';
import { readYaml } from '../../deploy/testing/yaml.js';
import { type ProcessName, processSettings } from '../../deploy/testing/process-settings.js';
import { prometheusFolder } from '../support/clients/prometheus.js';
import {
  chart,
  combinations,
  componentOf,
  type Container,
  helmTemplate,
  type Manifest,
  manifestsOf,
  type PodSpec,
  podsOf,
  type Rule,
  tool,
  valuesOf,
} from './chart.js';

// What scripts/install/helm.sh made, by version; it has no schemas of resources that are not part of Kubernetes.
const schemas = tool('../kubernetes-schemas');
const custom = ['Certificate', 'Issuer', 'ServiceMonitor'];

const schema = JSON.parse(readFileSync(join(chart, 'values.schema.json'), 'utf8')) as {
  definitions: { config: { propertyNames: { pattern: string; allOf: [{ not: { pattern: string } }] } } };
};

const isService = (name: string): boolean => (serviceNames as readonly string[]).includes(name);
const settingsOf = (name: string): Setting<unknown>[] => Object.values(processSettings[name as ProcessName]);

describe('Helm', () => {
  it.each(combinations)('finds no fault in the chart with the values %s', (name) => {
    const { status, stdout, stderr } = spawnSync(tool('helm'), ['lint', '--strict', chart, '--values', valuesOf(name)], {
      encoding: 'utf8',
    });
    expect({ status, faults: `${stdout}${stderr}`.match(/^.*\[(ERROR|WARNING)\].*$/gm) }).toEqual({ status: 0, faults: null });
  });

  it.each([
    ['a secret in plain text', ['gateway.replicas=1', 'config.TOLLGATE_SMTP_URL=smtp://user:secret@mail'], 'TOLLGATE_SMTP_URL'],
    ['an unknown value', ['gateway.replicas=1', 'gateway.replica=2'], 'replica'],
    ['two gateways without Redis', ['gateway.replicas=2'], 'redis.secretName is required'],
    ['an address that is none', ['gateway.replicas=1', 'publicUrl=ai.example.com'], 'publicUrl'],
    [
      'a setting that also decides the grace period',
      ['gateway.replicas=1', 'config.TOLLGATE_DRAIN_TIMEOUT=120s'],
      'TOLLGATE_DRAIN_TIMEOUT',
    ],
    ['an Ingress without a host', ['gateway.replicas=1', 'ingress.enabled=true'], 'host'],
  ])('refuses %s', async (_what, values, fault) => {
    await expect(helmTemplate(...values.flatMap((value) => ['--set', value]))).rejects.toThrow(fault);
  });
});

describe.each(combinations)('the manifests of the values %s', (combination) => {
  let manifests: Manifest[];
  let containers: [component: string, container: Container][];
  beforeAll(async () => {
    manifests = await manifestsOf(combination);
    containers = [...podsOf(manifests)].flatMap(([component, pod]) => pod.containers.map((each): [string, Container] => [component, each]));
  });

  it.each(readdirSync(schemas))('are valid for Kubernetes %s', (version) => {
    const location = join(schemas, version, '{{ .ResourceKind }}{{ .KindSuffix }}.json');
    const args = ['-strict', '-summary', '-kubernetes-version', version, '-schema-location', location, '-skip', custom.join(',')];
    const { status, stdout } = spawnSync(tool('kubeconform'), args, {
      encoding: 'utf8',
      input: manifests.map((manifest) => JSON.stringify(manifest)).join('\n---\n'),
    });
    expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringContaining('Invalid: 0, Errors: 0') });
  });

  it('give each process variables that it knows and accepts, and no secret in plain text', () => {
    for (const [component, { env }] of containers) {
      if (component === 'migrations') continue;
      const known = new Map(settingsOf(component).map((setting) => [setting.env, setting]));
      expect(env.filter(({ name }) => !known.has(name)).map(({ name }) => `${component} ${name}`)).toEqual([]);
      expect(env.filter(({ name, value }) => known.get(name)?.secret === true && value !== undefined)).toEqual([]);
      expect(new Set(env.map(({ name }) => name)).size).toBe(env.length);
      const values = Object.fromEntries(env.map(({ name, value }) => [name, value ?? secretFor(name)]));
      expect(() =>
        parseSettings(processSettings[component as ProcessName], values, [`TOLLGATE_${component.toUpperCase()}_`]),
      ).not.toThrow();
    }
    expect(manifests.filter(({ kind }) => kind === 'Secret' || kind === 'ConfigMap')).toEqual([]);
  });

  it('set no variable that could also be set by config', () => {
    const values = readYaml<Record<string, { config?: object }>>(readFileSync(valuesOf(combination), 'utf8'));
    const given = new Set([values, ...Object.values(values)].flatMap(({ config }) => Object.keys(config ?? {})));
    const set = containers.flatMap(([, { env }]) =>
      env.flatMap(({ name, value }) => (value === undefined || given.has(name) ? [] : [name])),
    );
    const { pattern, allOf } = schema.definitions.config.propertyNames;
    const isAccepted = (name: string): boolean => new RegExp(pattern).test(name) && !new RegExp(allOf[0].not.pattern).test(name);
    // The command that connects to the gateway has no config.
    expect([...new Set(set)].filter(isAccepted)).toEqual(containers.some(([name]) => name === 'operator') ? ['TOLLGATE_GATEWAY_URL'] : []);
  });

  it('run everything without root, capabilities, a writable root file system, service links or tokens', () => {
    for (const pod of podsOf(manifests).values()) {
      expect(pod).toMatchObject({ enableServiceLinks: false, automountServiceAccountToken: false });
      expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } });
    }
    for (const [, { securityContext, resources }] of containers) {
      expect(securityContext).toEqual({ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } });
      expect(resources).toEqual({
        requests: { cpu: expect.any(String), memory: expect.any(String) },
        limits: { memory: expect.any(String) },
      });
    }
  });

  it('run on the nodes that the values of the process select', () => {
    const values = readYaml<Record<string, Pick<PodSpec, 'nodeSelector' | 'tolerations'> | undefined>>(
      readFileSync(valuesOf(combination), 'utf8'),
    );
    const placed = new Set<string>();
    for (const [component, { nodeSelector, tolerations }] of podsOf(manifests)) {
      const { nodeSelector: selected, tolerations: tolerated } = values[component] ?? {};
      expect({ component, nodeSelector, tolerations }).toEqual({ component, nodeSelector: selected, tolerations: tolerated });
      if (selected !== undefined) placed.add(component);
    }
    if (combination === 'everything') expect(placed).toEqual(new Set(['gateway', 'inference', 'migrations', 'operator']));
  });

  it('mount the authority of the database where schemas are migrated, as where they are used', () => {
    const mountsOf = (name: string) =>
      containers
        .find(([component]) => component === name)?.[1]
        .volumeMounts?.filter((mount) => mount.name === 'database-authority' && mount.mountPath === '/etc/tollgate/database') ?? [];
    expect(mountsOf('ledger')).toHaveLength(combination === 'everything' ? 1 : 0);
    expect(mountsOf('migrations')).toEqual(mountsOf('ledger'));
  });

  it('let processes find each other by Services and ports that exist', () => {
    const services = new Map(manifests.filter(({ kind }) => kind === 'Service').map((manifest) => [manifest.metadata.name, manifest]));
    let addresses = 0;
    for (const [, { env }] of containers) {
      for (const { name, value } of env.filter((each) => each.name.endsWith('_ADDRESS'))) {
        const [, host, port] = /^dns:\/\/\/([\w-]+)\.ai\.svc:(\d+)$/.exec(value!)!;
        const callee = name.replace(/^TOLLGATE_(\w+)_ADDRESS$/, '$1').toLowerCase();
        const service = services.get(host!)!;
        expect(service.spec.clusterIP).toBe('None');
        expect([componentOf(service), service.spec.ports![0]!.port]).toEqual([callee, Number(port)]);
        addresses += 1;
      }
    }
    expect(addresses).toBeGreaterThanOrEqual(5 + 6);
    for (const service of services.values()) {
      const { ports } = podsOf(manifests).get(componentOf(service))!.containers[0]!;
      for (const { targetPort } of service.spec.ports!) expect(ports!.map(({ name }) => name)).toContain(targetPort);
    }
  });

  it('listen on the ports that they declare and probe', () => {
    for (const [component, { env, ports = [], startupProbe, readinessProbe, livenessProbe }] of containers) {
      if (component === 'operator' || component === 'migrations') continue;
      const portOf = (name: string): number => ports.find((port) => port.name === name)!.containerPort;
      const listens = (variable: string): number =>
        Number(
          env
            .find(({ name }) => name === variable)!
            .value!.split(':')
            .at(-1),
        );
      const own = `TOLLGATE_${component.toUpperCase()}_`;
      expect(portOf('metrics')).toBe(listens(`${own}METRICS_LISTEN`));
      const probes = [startupProbe, readinessProbe, livenessProbe];
      if (isService(component)) {
        expect([portOf('grpc'), portOf('health')]).toEqual([listens(`${own}LISTEN`), listens(`${own}HEALTH_LISTEN`)]);
        expect(probes.map((probe) => probe!.grpc)).toEqual([
          { port: 7200, service: 'liveness' },
          { port: 7200 },
          { port: 7200, service: 'liveness' },
        ]);
      } else {
        expect(portOf('http')).toBe(listens('PORT'));
        expect(probes.map((probe) => probe!.httpGet)).toEqual(['/livez', '/readyz', '/livez'].map((path) => ({ path, port: 'http' })));
      }
    }
  });

  it('mount what the variables name, and give more time to stop than the process takes', () => {
    for (const [component, pod] of podsOf(manifests)) {
      const [{ env, volumeMounts = [] }] = pod.containers as [Container];
      const files = env.filter(
        ({ name, value }) => /_(TLS_CA|TLS_CERT|TLS_KEY|SECRET_KEY_FILE|SPOOL_DIR|ARCHIVE_DIR)$/.test(name) && value !== undefined,
      );
      for (const { value } of files) expect(volumeMounts.some(({ mountPath }) => `${value}/`.startsWith(`${mountPath}/`))).toBe(true);
      expect((pod.volumes ?? []).map(({ name }) => name)).toEqual(
        expect.arrayContaining(volumeMounts.flatMap(({ name }) => (name === 'spool' ? [] : [name]))),
      );
      for (const { secret } of pod.volumes ?? []) expect(secret === undefined || secret.defaultMode === 0o440).toBe(true);
      const seconds = (name: string): number => Number.parseInt(env.find((each) => each.name === name)?.value ?? '0', 10);
      if (component !== 'operator' && component !== 'migrations')
        expect(pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(
          seconds('TOLLGATE_LAME_DUCK') + seconds('TOLLGATE_DRAIN_TIMEOUT') + 10,
        );
    }
  });

  it('give each process a certificate with its name, which its callers use', () => {
    const certificates = new Map(manifests.filter(({ kind }) => kind === 'Certificate').map(({ spec }) => [spec.secretName, spec]));
    if (certificates.size === 0) return;
    for (const [component, pod] of podsOf(manifests)) {
      if (component === 'migrations') continue;
      const secretName = pod.volumes!.find(({ name }) => name === 'tls')!.secret!.secretName;
      expect(certificates.get(secretName)).toMatchObject({ commonName: component });
      if (isService(component)) expect(certificates.get(secretName)!.dnsNames).toContain(`prod-tollgate-${component}.ai.svc`);
    }
  });

  it('are scraped as the job that the alerts name', () => {
    const monitor = manifests.find(({ kind }) => kind === 'ServiceMonitor');
    if (monitor === undefined) return;
    const rules = readFileSync(join(prometheusFolder, 'tollgate.rules.yaml'), 'utf8');
    const jobs = [...rules.matchAll(/job="(.*?)"/g)].map(([, job]) => job);
    const scraped = manifests.filter(({ kind, spec }) => kind === 'Service' && spec.ports!.some(({ name }) => name === 'metrics'));
    expect(scraped).toHaveLength(serviceNames.length + 1);
    expect(scraped.map(({ metadata }) => metadata.labels[monitor.spec.jobLabel!])).toEqual(scraped.map(() => jobs[0]));
  });

  it('admit exactly the calls that processes make', () => {
    const policies = new Map(
      manifests.filter(({ kind }) => kind === 'NetworkPolicy').map((manifest) => [componentOf(manifest), manifest.spec]),
    );
    if (policies.size === 0) return;
    const peers = (rules: readonly Rule[] = [], side: 'from' | 'to', isOf: (rule: Rule) => boolean): string[] =>
      rules
        .filter(isOf)
        .flatMap((rule) => (rule[side] ?? []).flatMap(({ podSelector }) => podSelector?.matchLabels['app.kubernetes.io/component'] ?? []));
    for (const [component, { env }] of containers) {
      const called = env.flatMap(({ name }) => /^TOLLGATE_(\w+)_ADDRESS$/.exec(name)?.[1]?.toLowerCase() ?? []).sort();
      const isRpc = ({ ports }: Rule): boolean => ports?.some(({ port }) => String(port).startsWith('71')) === true;
      expect(peers(policies.get(component)!.egress, 'to', isRpc).sort()).toEqual(called);
      for (const callee of called) {
        const admitted = peers(policies.get(callee)!.ingress, 'from', ({ ports }) => ports?.[0]?.port === 'grpc');
        expect(admitted).toContain(component);
      }
    }
  });
});

/** A value of the right form for a variable from a Secret. */
function secretFor(name: string): string {
  if (name.endsWith('_DATABASE_URL')) return 'mysql://user:password@database:3306/schema';
  if (name === 'TOLLGATE_SMTP_URL') return 'smtp://user:password@mail:587';
  return name.endsWith('_REDIS_URL') ? 'redis://:password@redis:6379' : 'secret';
}
