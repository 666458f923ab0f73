// What the kernel holds of connections on this machine, from /proc/net/tcp (https://docs.kernel.org/networking/proc_net_tcp.html).
import { readFileSync } from 'node:fs';

function connections(): { readonly ports: readonly number[]; readonly queues: string }[] {
  const lines = readFileSync('/proc/net/tcp', 'utf8').trim().split('\n').slice(1);
  return lines.map((line) => {
    const [, local, remote, , queues] = line.trim().split(/\s+/);
    return { ports: [local, remote].map((address) => Number.parseInt(address!.split(':')[1]!, 16)), queues: queues! };
  });
}

/** Returns the bytes that wait in the sockets of IPv4 connections from or to these ports: sent and not acknowledged, or received and not read. */
export function queuedBytes(ports: ReadonlySet<number>): number {
  const counts = connections()
    .filter((each) => each.ports.some((port) => ports.has(port)))
    .flatMap(({ queues }) => queues.split(':').map((queue) => Number.parseInt(queue, 16)));
  return counts.reduce((sum, count) => sum + count, 0);
}
