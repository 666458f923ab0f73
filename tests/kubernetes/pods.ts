// Runs containers of rendered manifests as processes on this machine, as a node of Kubernetes would: each pod in a network namespace with an
// address of its own, its volumes mounted, on a read-only root file system, as the user and with the capabilities of its security context. Needs
// root, for the namespaces.
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { root } from '../support/systems/process.js';
import type { Container, PodSpec } from './chart.js';

/** Files of a Secret by its keys. */
export type SecretData = Readonly<Record<string, string>>;

/** A running pod. */
export interface Pod {
  readonly address: string;
  readonly process: ChildProcess;
  log(): string;
  /** Sends SIGTERM and returns the exit code. */
  stop(): Promise<number | null>;
}

/** A network of pods, with names for them. */
export interface Node {
  /** The address of the machine that pods run on, where the database and Redis are. */
  readonly address: string;
  /** Runs the pod's only container. */
  start(pod: PodSpec, options?: { args?: readonly string[] }): Pod;
  /** Lets this name resolve to these addresses. */
  name(host: string, addresses: readonly string[]): void;
  /** Runs a program in the network of the node, as the kubelet does for probes. Raises an Error with its output if it fails. */
  run(program: string, ...args: string[]): Promise<string>;
  /** Starts a program there that runs until the node is removed. */
  background(program: string, ...args: string[]): void;
  remove(): Promise<void>;
}

/** Options of `createNode`. */
export interface NodeOptions {
  /** A folder for volumes. */
  readonly folder: string;
  readonly secrets: Readonly<Record<string, SecretData>>;
}

const execute = promisify(execFile);

const user = 1000;
const enter = `set -eu
root=$1; shift
mount --make-rprivate /
mount -t tmpfs tmpfs "$root"
cd "$root"
for each in bin sbin lib lib64; do if [ -L "/$each" ]; then cp -P "/$each" .; fi; done
mkdir -p usr dev proc tmp app etc opt/node
mount --rbind -o ro /usr usr
mount --rbind /dev dev
mount --rbind /proc proc
mount --bind "$NODE_FOLDER" opt/node
cp /etc/nsswitch.conf etc/
touch etc/hosts
mount --bind "$HOSTS" etc/hosts
for each in dist node_modules docs; do mkdir "app/$each"; mount --bind -o ro "$SOURCES/$each" "app/$each"; done
cp "$SOURCES/package.json" app/
echo "$VOLUMES" | while IFS='|' read -r from to mode; do
  [ -n "$from" ] || continue
  mkdir -p ".$to"
  mount --bind -o "$mode" "$from" ".$to"
done
mount -o remount,ro "$root"
exec chroot . setpriv --reuid=${user} --regid=${user} --groups=${user} --no-new-privs --bounding-set=-all --inh-caps=-all env -i -C /app "$@"
`;

/** Creates the network. */
export function createNode({ folder, secrets }: NodeOptions): Node {
  const id = `tg${process.pid}`;
  const hub = `${id}-hub`;
  const ip = (...args: string[]): string => execFileSync('ip', args, { encoding: 'utf8' });
  const hosts = join(folder, 'hosts');
  const script = join(folder, 'enter.sh');
  const names = new Map<string, readonly string[]>();
  const writeHosts = (): void =>
    writeFileSync(
      hosts,
      ['127.0.0.1 localhost', ...[...names].flatMap(([host, all]) => all.map((each) => `${each} ${host}`)), ''].join('\n'),
    );
  mkdirSync(folder, { recursive: true });
  writeHosts();
  writeFileSync(script, enter);
  ip('netns', 'add', hub);
  ip('-n', hub, 'link', 'set', 'lo', 'up');
  ip('-n', hub, 'link', 'add', 'bridge', 'type', 'bridge');
  ip('-n', hub, 'addr', 'add', '10.77.0.1/24', 'dev', 'bridge');
  ip('-n', hub, 'link', 'set', 'bridge', 'up');
  const namespaces = [hub];
  const running = new Set<ChildProcess>();

  function volumesOf(pod: PodSpec, container: Container, own: string): string {
    const mounts = (container.volumeMounts ?? []).map(({ name, mountPath, readOnly }) => {
      const volume = pod.volumes?.find((each) => each.name === name);
      const at = join(own, name);
      mkdirSync(at, { recursive: true });
      const data = volume?.secret === undefined ? undefined : secrets[volume.secret.secretName];
      if (volume?.secret !== undefined && data === undefined)
        throw new Error(`The pod mounts the Secret ${volume.secret.secretName}, which does not exist.`);
      const items = volume?.secret?.items ?? Object.keys(data ?? {}).map((key) => ({ key, path: key }));
      for (const { key, path } of items) {
        writeFileSync(join(at, path), data![key]!);
        chownSync(join(at, path), 0, user);
        chmodSync(join(at, path), volume!.secret!.defaultMode);
      }
      chownSync(at, 0, user);
      chmodSync(at, 0o775);
      return `${at}|${mountPath}|${readOnly === true ? 'ro' : 'rw'}`;
    });
    return mounts.join('\n');
  }

  return {
    address: '10.77.0.1',
    start(pod, { args } = {}) {
      const [container] = pod.containers as [Container];
      const number = namespaces.length;
      const namespace = `${id}-${number}`;
      const address = `10.77.0.${number + 1}`;
      ip('netns', 'add', namespace);
      namespaces.push(namespace);
      ip('link', 'add', 'eth0', 'netns', namespace, 'type', 'veth', 'peer', 'name', `pod${number}`, 'netns', hub);
      ip('-n', hub, 'link', 'set', `pod${number}`, 'master', 'bridge', 'up');
      ip('-n', namespace, 'addr', 'add', `${address}/24`, 'dev', 'eth0');
      for (const device of ['eth0', 'lo']) ip('-n', namespace, 'link', 'set', device, 'up');
      const own = join(folder, namespace);
      mkdirSync(join(own, 'root'), { recursive: true });
      const env = container.env.map(({ name, value, valueFrom }) => {
        const { name: secret, key } = valueFrom?.secretKeyRef ?? { name: '', key: '' };
        const filled = value ?? secrets[secret]?.[key];
        if (filled === undefined) throw new Error(`The variable ${name} is from the Secret ${secret}, which has no ${key}.`);
        return `${name}=${filled}`;
      });
      const child = spawn(
        'ip',
        [
          'netns',
          'exec',
          namespace,
          'unshare',
          '--mount',
          'sh',
          script,
          join(own, 'root'),
          'PATH=/opt/node:/usr/bin',
          'NODE_ENV=production',
          ...env,
          'node',
          ...(args ?? container.args),
        ],
        {
          stdio: ['ignore', 'pipe', 'pipe'],
          env: {
            ...process.env,
            HOSTS: hosts,
            SOURCES: root,
            NODE_FOLDER: dirname(process.execPath),
            VOLUMES: volumesOf(pod, container, own),
          },
        },
      );
      running.add(child);
      let log = '';
      child.stdout.on('data', (chunk) => (log += chunk));
      child.stderr.on('data', (chunk) => (log += chunk));
      const exited = new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)));
      void exited.then(() => running.delete(child));
      return {
        address,
        process: child,
        log: () => log,
        stop() {
          child.kill('SIGTERM');
          return exited;
        },
      };
    },
    name(host, addresses) {
      names.set(host, addresses);
      writeHosts();
    },
    run: async (program, ...args) => (await execute('ip', ['netns', 'exec', hub, program, ...args])).stdout,
    background(program, ...args) {
      running.add(spawn('ip', ['netns', 'exec', hub, program, ...args], { stdio: 'ignore' }));
    },
    async remove() {
      await Promise.all(
        [...running].map(
          (child) =>
            new Promise<void>((resolve) => {
              if (child.exitCode !== null || child.signalCode !== null) return resolve();
              child.once('close', () => resolve());
              child.kill('SIGKILL');
            }),
        ),
      );
      for (const namespace of namespaces) ip('netns', 'delete', namespace);
    },
  };
}

/** Reads a folder as a Secret. */
export function secretOf(folder: string, read: (path: string) => string): SecretData {
  return Object.fromEntries(readdirSync(folder).map((file) => [file, read(join(folder, file))]));
}
