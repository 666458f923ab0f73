// Gauges of a gateway's load, the age of its local copies, and the content of its spool: read when metrics are collected.
import type { Logger } from '#kit/log.js';
import { gauge, observe } from '#kit/telemetry/metrics.js';
import type { Spool } from './call/recording/spool/spool.js';
import type { KeyReplica } from './replicas/keys.js';
import type { ModelReplica } from './replicas/models.js';

const by = 'gateway';
const callsInFlight = gauge({ name: 'tollgate.gateway.calls', unit: '{call}', description: 'Calls in flight.', by });
const connections = gauge(
  { name: 'tollgate.gateway.connections', unit: '{connection}', description: 'Open connections of clients.', by },
  'max',
);
const ready = gauge(
  {
    name: 'tollgate.gateway.ready',
    unit: '',
    description: 'Whether calls can be served: 1, or 0 for each part that is missing.',
    by,
    labels: { part: 'auth, catalog, ledger, metering, inference or spool' },
  },
  'min',
);
const replicaAge = gauge(
  {
    name: 'tollgate.replica.age',
    unit: 's',
    description: 'How long ago the last change or heartbeat of a local copy arrived.',
    by,
    labels: { replica: 'keys or catalog' },
  },
  'max',
);
const spoolWaiting = gauge({
  name: 'tollgate.spool.waiting',
  unit: '{report}',
  description: 'Ended calls that metering has not recorded yet.',
  by,
});
const spoolBytes = gauge({ name: 'tollgate.spool.size', unit: 'By', description: 'Size of the spool files.', by });
const spoolAge = gauge(
  {
    name: 'tollgate.spool.oldest_age',
    unit: 's',
    description:
      'How long the oldest call in the spool has waited for metering, counted from the start of this process for calls of an earlier one.',
    by,
  },
  'max',
);
const spoolRefused = gauge(
  {
    name: 'tollgate.spool.refused',
    unit: '{report}',
    description: 'Spooled calls that metering permanently rejected; kept for operators.',
    by,
  },
  'max',
);
const spoolDamaged = gauge(
  { name: 'tollgate.spool.damaged_files', unit: '{file}', description: 'Spool files with unreadable lines; kept for operators.', by },
  'max',
);

/** What is observed. */
export interface ObservedGateway {
  readonly keys: Pick<KeyReplica, 'feed'>;
  readonly models: Pick<ModelReplica, 'feed'>;
  readonly spool: Pick<Spool, 'state' | 'own'>;
  /** The parts that are missing to serve calls. */
  readiness(): Promise<string[]>;
  callsInFlight(): number;
  connections(): number;
  readonly log: Logger;
}

const parts = ['auth', 'catalog', 'ledger', 'metering', 'inference', 'spool'];

/** Reports a gateway whenever metrics are collected. Returns a function that stops it. */
export function observeGateway({ keys, models, spool, readiness, log, ...counts }: ObservedGateway): () => void {
  const ends = [
    observe(() => [callsInFlight.at(counts.callsInFlight()), connections.at(counts.connections())], log),
    observe(async () => {
      const missing = await readiness();
      return [...new Set([...parts, ...missing])].map((part) => ready.at(missing.includes(part) ? 0 : 1, { part }));
    }, log),
    observe(
      () =>
        Object.entries({ keys: keys.feed(), catalog: models.feed() }).flatMap(([replica, { silentMs }]) =>
          silentMs === undefined ? [] : [replicaAge.at(silentMs / 1000, { replica })],
        ),
      log,
    ),
    observe(async () => {
      const { refused, damagedFiles } = await spool.state();
      const { waiting, bytes, oldestAgeMs } = spool.own();
      return [
        spoolWaiting.at(waiting),
        spoolBytes.at(bytes),
        spoolAge.at(oldestAgeMs / 1000),
        spoolRefused.at(refused),
        spoolDamaged.at(damagedFiles),
      ];
    }, log),
  ];
  return () => ends.forEach((end) => end());
}
