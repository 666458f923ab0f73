// Access rules for the services that tests create.
import { accessTable } from '#proto/access.js';
import { Access } from '../rpc/access/access.js';

/** Returns access to the probe service: a grant for each of its RPCs. The gateway holds all of them, metering one. No keys will arrive. */
export function probeAccess(): Access {
  const grants = ['Echo', 'Count', 'WatchTicks', 'Converse'].map(
    (name) => [`tollgate.test.v1.ProbeService/${name}`, `test.${name.toLowerCase()}`] as const,
  );
  return new Access({
    keysWaitMs: 10,
    table: { ...accessTable, ...Object.fromEntries(grants.map(([rpc, grant]) => [rpc, { grant }])) },
    builtIn: {
      operator: { grants: 'all', forUsers: false },
      gateway: { grants: grants.map(([, grant]) => grant), forUsers: false },
      metering: { grants: ['test.echo'], forUsers: false },
    },
  });
}
