import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { claimPorts } from './ports.js';

describe('claimPorts', () => {
  it('returns a different free port for each 0', async () => {
    const ports = await claimPorts([0, 0, 0]);
    expect(new Set(ports).size).toBe(3);
    // The ports are free again.
    expect(await claimPorts(ports)).toEqual(ports);
  });

  it('chooses no ephemeral port, which could be taken when a process is restarted', async () => {
    const ephemeralFrom = Number(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').split(/\s+/)[0]);
    for (const port of await claimPorts(Array.from({ length: 100 }, () => 0))) expect(port).toBeLessThan(ephemeralFrom);
  });

  it('fails with the number of a port that another process listens on', async () => {
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
