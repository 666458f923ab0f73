// What the kernel holds of connections on this machine, from /proc/net/tcp (https://docs.kernel.org/networking/proc_net_tcp.html).
import { readFileSync } from 'node:fs';

/** Returns the bytes that wait in the sockets of IPv4 connections from or to these ports: sent and not acknowledged, or received and not read. */
export function queuedBytes(ports: ReadonlySet<number>): number {
  let bytes = 0;
  for (const line of readFileSync('/proc/net/tcp', 'utf8').trim().split('\n').slice(1)) {
    const [, local, remote, , queues] = line.trim().split(/\s+/);
    if (![local, remote].some((address) => ports.has(Number.parseInt(address!.split(':')[1]!, 16)))) continue;
    for (const queue of queues!.split(':')) bytes += Number.parseInt(queue, 16);
  }
  return bytes;
}
