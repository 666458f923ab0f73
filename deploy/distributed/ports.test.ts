import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { claimPorts } from './ports.js';

describe('the ports of the processes', () => {
  it('are free ones where none are wanted, each another', async () => {
    const ports = await claimPorts([0, 0, 0]);
    expect(new Set(ports).size).toBe(3);
    // They can be had now.
    expect(await claimPorts(ports)).toEqual(ports);
  });

  it('are none that the system gives to whoever connects: a process started again would find its own taken', async () => {
    const givenAwayFrom = Number(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').split(/\s+/)[0]);
    for (const port of await claimPorts(Array.from({ length: 100 }, () => 0))) expect(port).toBeLessThan(givenAwayFrom);
  });

  it('are refused by name when another process listens there', async () => {
    const [port] = await claimPorts([0]);
    const other = createServer();
    await new Promise<void>((done) => other.listen(port, '127.0.0.1', done));
    await expect(claimPorts([0, port!], 50)).rejects.toMatchObject({
      reason: 'failed_precondition',
      message: expect.stringContaining(`Port ${port} cannot be used`),
    });
    setTimeout(() => other.close(), 100);
    expect(await claimPorts([port!], 5000)).toEqual([port]);
  });
});
