// Deletes prompts and answers that have expired, and those of projects that no longer log them, or for a shorter time.
import { type Clock, dayMs } from '#kit/clock.js';
import type { Database } from '#kit/db/open.js';
import { idFromBytes } from '#kit/id.js';
import type { Logger } from '#kit/log.js';
import { repeat } from '#kit/scheduling/repeat.js';
import { callContext } from '#client/call-context.js';
import type { AuthService } from '#proto/auth/v1/auth.js';
import type { MeteringConfig } from '../config.js';
import { deletePromptLogs, deleteUnusedKeys, expiredLogs, loggingProjects, type LoggingProject, logsBefore } from '../store/prompt-logs.js';

const projectsPerCall = 1000;
const timeoutMs = 10_000;

/** Returns for how many days projects log prompts. */
export type PromptLogSettings = Pick<AuthService, 'batchGetPromptLogDays'>;

interface SweeperDeps {
  readonly config: MeteringConfig;
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Logger;
  readonly projects: PromptLogSettings;
}

/** Starts to sweep; returns a function that stops it. Several replicas may sweep at the same time. */
export function startPromptLogSweeper(deps: SweeperDeps): () => Promise<void> {
  const stopping = new AbortController();
  const stop = repeat(
    deps.config.promptLogSweepIntervalMs,
    () => sweep(deps, stopping.signal),
    (error) => deps.log.warn({ err: error }, 'logged prompts that are no longer wanted could not be deleted; this will be retried'),
  );
  return () => {
    stopping.abort();
    return stop();
  };
}

async function sweep(deps: SweeperDeps, signal: AbortSignal): Promise<void> {
  const { db, clock } = deps;
  for (let expired = await expiredLogs(db, clock.nowMs()); expired.length > 0 && !signal.aborted;) {
    for (const { accountId, callId } of expired) await deletePromptLogs(db, accountId, [callId]);
    expired = await expiredLogs(db, clock.nowMs());
  }
  let batch: LoggingProject[] = [];
  for await (const project of loggingProjects(db)) {
    batch.push(project);
    if (batch.length < projectsPerCall) continue;
    await applySettings(batch, deps, signal);
    batch = [];
  }
  if (batch.length > 0) await applySettings(batch, deps, signal);
  if (!signal.aborted) await deleteUnusedKeys(db);
}

/** Deletes what these projects keep for longer than their settings permit now. */
async function applySettings(
  batch: readonly LoggingProject[],
  { config, db, clock, projects }: SweeperDeps,
  signal: AbortSignal,
): Promise<void> {
  const days = config.promptLogging
    ? (
        await projects.batchGetPromptLogDays(
          { projectIds: batch.map(({ projectId }) => idFromBytes('proj', projectId)) },
          callContext({ caller: 'metering', timeoutMs, signal }),
        )
      ).days
    : batch.map(() => 0);
  for (const [index, project] of batch.entries()) {
    const beforeMs = days[index] === 0 ? Number.MAX_SAFE_INTEGER : clock.nowMs() - days[index]! * dayMs;
    for (
      let ids = await logsBefore(db, project, beforeMs);
      ids.length > 0 && !signal.aborted;
      ids = await logsBefore(db, project, beforeMs)
    )
      await deletePromptLogs(db, project.accountId, ids);
  }
}
