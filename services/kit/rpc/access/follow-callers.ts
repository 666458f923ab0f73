// Keeps a process's copy of the callers and of the actor token keys current, as auth pushes them, and reports when callers were last seen.
import type { CallerService, WatchCallersResponse } from '#proto/auth/v1/callers.js';
import type { Clock } from '../../clock.js';
import type { Part } from '../../lifecycle.js';
import type { Logger } from '../../log.js';
import { repeat } from '../../scheduling/repeat.js';
import { callContext } from '#client/call-context.js';
import { watch, type Watch } from '../watch.js';
import type { Access } from './access.js';
import type { RegisteredCaller } from './caller-directory.js';

/** Where callers are kept: auth, in this process or another. */
export type CallerSource = Pick<CallerService, 'watchCallers' | 'reportCallersSeen'>;

/** Options of `followCallers`. */
export interface FollowOptions {
  readonly access: Access;
  readonly source: CallerSource;
  /** The name under which this process calls. */
  readonly caller: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** How often to report when callers were last seen; every 5 s by default. */
  readonly reportMs?: number;
}

const reportMsDefault = 5000;
const reportTimeoutMs = 5000;

/** Returns a part that follows the source while it runs. Starting does not wait for the source. */
export function followCallers(options: FollowOptions): Part {
  const { access, source, caller, clock, log, reportMs = reportMsDefault } = options;
  const directory = access.callers;
  let following: Watch | undefined;
  let stopReporting: (() => Promise<void>) | undefined;
  const report = async (): Promise<void> => {
    const seen = directory.takeSeen();
    if (seen.length === 0) return;
    const sightings = seen.map(([name, atMs]) => ({ name, atMs: BigInt(atMs) }));
    try {
      await source.reportCallersSeen({ sightings }, callContext({ caller, timeoutMs: reportTimeoutMs }));
    } catch (error) {
      directory.returnSeen(seen);
      throw error;
    }
  };
  return {
    name: 'callers',
    async start() {
      following = watch<WatchCallersResponse>({
        name: 'callers',
        caller,
        open: (context) => source.watchCallers({}, context),
        onMessage: (message) => take(message, access),
        heartbeatMsOf: ({ heartbeatIntervalMs }) => heartbeatIntervalMs,
        clock,
        log,
      });
      stopReporting = repeat(reportMs, report, (error) => log.warn({ err: error }, 'could not report when callers were last seen'));
    },
    async stop() {
      await stopReporting?.();
      await following?.stop();
      directory.lose();
    },
  };
}

function take({ callers, isSnapshot, signingKeys }: WatchCallersResponse, { callers: directory, actors }: Access): void {
  if (signingKeys.length > 0) actors.setKeys(signingKeys);
  if (isSnapshot) directory.reset(callers.map(registered));
  else for (const caller of callers) directory.put(registered(caller), caller.revokedAtMs !== undefined);
  directory.confirm();
}

function registered({
  name,
  identity,
  grants,
  accountLimit,
  certificates,
  version,
}: WatchCallersResponse['callers'][number]): RegisteredCaller {
  return {
    name,
    identity,
    grants: new Set(grants),
    accountIds: accountLimit === undefined ? undefined : new Set(accountLimit.accountIds),
    certificates: certificates.map(({ sha256, validUntilMs }) => ({
      sha256: Buffer.from(sha256).toString('hex'),
      untilMs: validUntilMs === undefined ? undefined : Number(validUntilMs),
    })),
    version,
  };
}
