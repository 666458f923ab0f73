// The compose file, as Compose itself reads it. Needs its loader, which `make nightly` builds.
import { expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '../support/systems/process.js';
import { tool } from './chart.js';

const compose = readFileSync(join(root, 'deploy/containers/compose.yaml'), 'utf8');

/** Returns the names of the containers, or the fault that Compose finds. */
function load(text: string): { containers: string[] } | { fault: string } {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-compose-'));
  try {
    writeFileSync(join(folder, 'compose.yaml'), text);
    const { status, stdout, stderr } = spawnSync(tool('compose-spec'), ['-no-interpolation', '-format', 'json', 'compose.yaml'], {
      cwd: folder,
      encoding: 'utf8',
    });
    if (status !== 0) return { fault: stderr };
    return { containers: Object.keys((JSON.parse(stdout) as { services: object }).services) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

it('is accepted by Compose, with every process', () => {
  const processes = ['auth', 'catalog', 'ledger', 'metering', 'inference', 'gateway', 'operator'];
  expect(load(compose)).toEqual({ containers: expect.arrayContaining(processes) });
});

it('would be refused with a fault', () => {
  expect(load(compose.replace('condition: service_healthy', 'condition: service_well'))).toEqual({
    fault: expect.stringContaining('condition'),
  });
});
