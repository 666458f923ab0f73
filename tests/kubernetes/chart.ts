// Renders the Helm chart with Helm, and reads the manifests.
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { readYamlDocuments } from '../../deploy/testing/yaml.js';
import { root } from '../support/systems/process.js';

const run = promisify(execFile);

/** The programs that scripts/install/helm.sh builds. */
export const tool = (name: string): string => join(root, '.toolchain/bin', name);
export const chart = join(root, 'deploy/kubernetes/tollgate');
const valuesFolder = join(root, 'deploy/kubernetes/values');

/** The combinations of values that are checked, by name. */
export const combinations = readdirSync(valuesFolder).map((file) => file.replace('.yaml', ''));
export const valuesOf = (name: string): string => join(valuesFolder, `${name}.yaml`);

/** A variable of a container. */
interface EnvVar {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly secretKeyRef: { readonly name: string; readonly key: string } };
}

/** A container. */
export interface Container {
  readonly name: string;
  readonly image: string;
  readonly args: readonly string[];
  readonly env: readonly EnvVar[];
  readonly ports?: readonly { name: string; containerPort: number }[];
  readonly volumeMounts?: readonly { name: string; mountPath: string; readOnly?: boolean }[];
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly resources: { requests: Record<string, string>; limits: Record<string, string> };
  readonly startupProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly livenessProbe?: Probe;
}

/** A probe. */
export interface Probe {
  readonly httpGet?: { readonly path: string; readonly port: string };
  readonly grpc?: { readonly port: number; readonly service?: string };
}

/** The parts of a pod. */
export interface PodSpec {
  readonly enableServiceLinks: boolean;
  readonly automountServiceAccountToken: boolean;
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly terminationGracePeriodSeconds?: number;
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly tolerations?: readonly Readonly<Record<string, string>>[];
  readonly containers: readonly Container[];
  readonly volumes?: readonly {
    name: string;
    secret?: { secretName: string; defaultMode: number; items?: readonly { key: string; path: string }[] };
  }[];
}

/** The parts of a spec that the tests read, of any kind. */
interface Spec {
  readonly template?: { readonly spec: PodSpec };
  readonly clusterIP?: string;
  readonly ports?: readonly { name: string; port: number; targetPort: string }[];
  readonly podSelector?: { readonly matchLabels: Readonly<Record<string, string>> };
  readonly ingress?: readonly Rule[];
  readonly egress?: readonly Rule[];
  readonly commonName?: string;
  readonly secretName?: string;
  readonly dnsNames?: readonly string[];
  /** Of a ServiceMonitor: the label of a Service whose value is the name of the job. */
  readonly jobLabel?: string;
  readonly metrics?: readonly { readonly pods?: { readonly metric: { readonly name: string } } }[];
}

/** A rule of a network policy. */
export interface Rule {
  readonly ports?: readonly { port: number | string; protocol?: string }[];
  readonly from?: readonly { podSelector?: { matchLabels: Readonly<Record<string, string>> } }[];
  readonly to?: readonly { podSelector?: { matchLabels: Readonly<Record<string, string>> } }[];
}

/** A manifest. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly spec: Spec;
}

/** The component that a manifest belongs to: ledger, gateway. */
export const componentOf = ({ metadata }: Manifest): string => metadata.labels['app.kubernetes.io/component']!;

/** Renders the chart. Raises Helm's error. */
export async function helmTemplate(...args: string[]): Promise<string> {
  return (
    await run(tool('helm'), ['template', 'prod', chart, '--namespace', 'ai', '--kube-version', '1.34.0', ...args], {
      maxBuffer: 16_000_000,
    })
  ).stdout;
}

/** Returns the manifests of a combination of values. */
export async function manifestsOf(name: string): Promise<Manifest[]> {
  return readYamlDocuments<Manifest>(await helmTemplate('--values', valuesOf(name)));
}

/** Returns the pods' templates by component. */
export function podsOf(manifests: readonly Manifest[]): Map<string, PodSpec> {
  const workloads = manifests.filter(({ kind }) => ['Deployment', 'StatefulSet', 'Job'].includes(kind));
  return new Map(workloads.map((manifest) => [componentOf(manifest), manifest.spec.template!.spec]));
}
