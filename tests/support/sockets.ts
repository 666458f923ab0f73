// What the kernel holds of connections on this machine, from /proc/net/tcp (https://docs.kernel.org/networking/proc_net_tcp.html).
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

function connections(): { readonly ports: readonly number[]; readonly queues: string; readonly inode: string }[] {
  const lines = readFileSync('/proc/net/tcp', 'utf8').trim().split('\n').slice(1);
  return lines.map((line) => {
    const [, local, remote, , queues, , , , , inode] = line.trim().split(/\s+/);
    return { ports: [local, remote].map((address) => Number.parseInt(address!.split(':')[1]!, 16)), queues: queues!, inode: inode! };
  });
}

/** Returns the bytes that wait in the sockets of IPv4 connections from or to these ports: sent and not acknowledged, or received and not read. */
export function queuedBytes(ports: ReadonlySet<number>): number {
  const counts = connections()
    .filter((each) => each.ports.some((port) => ports.has(port)))
    .flatMap(({ queues }) => queues.split(':').map((queue) => Number.parseInt(queue, 16)));
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Reports whether a process has an IPv4 connection from or to this port. */
export function isConnected(pid: number, port: number): boolean {
  const folder = `/proc/${pid}/fd`;
  const links = readdirSync(folder).map((name) => readlinkSync(`${folder}/${name}`));
  return connections().some((each) => each.ports.includes(port) && links.includes(`socket:[${each.inode}]`));
}
