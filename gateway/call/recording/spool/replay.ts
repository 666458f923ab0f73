// Records the reports that a spool has, without a gateway: for a restore.
import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '#kit/clock.js';
import type { Logger } from '#kit/log.js';
import { localOccupancy } from '../../../http/occupancy.js';
import { createRecorder, type RecorderDeps } from '../recorder.js';
import { adoptSpools } from './adopt.js';
import { countSetAside } from './files.js';
import { createSpool, type SpoolState } from './spool.js';

const rpcTimeoutMs = 30_000;
const pollMs = 20;
const waitMsMax = 600_000;

/**
 * Posts all reports in `folder` and in the folders of its threads, and returns what is left: reports that metering rejected now, which are kept
 * in a file, those that it did not accept in time, and all damaged files.
 */
export async function replaySpool(
  folder: string,
  { metering, clock, log }: { metering: RecorderDeps['metering']; clock: Clock; log: Logger },
): Promise<SpoolState> {
  adoptSpools(folder, [], folder);
  const { refused: refusedBefore } = await countSetAside(folder);
  const recorder = createRecorder(
    { metering, clock, log, rpcTimeoutMs, spoolAfterMs: 0, patienceMs: rpcTimeoutMs, persistenceMs: rpcTimeoutMs },
    () => spool,
  );
  const spool = createSpool({
    folder,
    root: folder,
    occupancy: localOccupancy(),
    bytesMax: Number.MAX_SAFE_INTEGER,
    reportsMax: Number.MAX_SAFE_INTEGER,
    post: (request) => recorder.post(request),
    clock,
    log,
  });
  await spool.start();
  try {
    const untilMs = clock.monotonicMs() + waitMsMax;
    while ((await spool.state()).waiting > 0 && clock.monotonicMs() < untilMs) await pause(pollMs);
    const { waiting } = await spool.state();
    const { refused, damagedFiles } = await countSetAside(folder);
    return { waiting, refused: refused - refusedBefore, damagedFiles };
  } finally {
    await spool.stop();
  }
}
