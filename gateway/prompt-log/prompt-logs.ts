// Sends the logs of ended calls to metering. They wait in memory, up to a limit, so that neither a call nor its client ever waits for them.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '#kit/clock.js';
import { callContext } from '#client/call-context.js';
import { hasReason } from '#client/errors/app-error.js';
import type { Logger } from '#kit/log.js';
import { counter } from '#kit/telemetry/metrics.js';
import type { StorePromptLogsRequest_Entry as Entry } from '#proto/metering/v1/metering.js';
import { Outage } from '../call/recording/outage.js';
import type { Format, ParsedCall } from '../formats/format.js';
import type { JsonBody } from '../http/middleware/json-body.js';
import type { RequestState } from '../http/request-state.js';
import type { GatewayPeers } from '../peers.js';
import { CallLog } from './call-log.js';

/** The maximum number of waiting logs that only say that their bodies are not kept; further ones are not sent. */
const droppedMax = 10_000;
const entriesPerRequestMax = 100;
/** Logs of calls that end within this time travel together, and share a transaction. */
const gatherMs = 50;
const charsPerRequestMax = 1024 * 1024;
const ageMsMax = 120_000;
const pauseMsMin = 250;
const pauseMsMax = 5000;

const logs = counter({
  name: 'tollgate.prompt_logs',
  unit: '{call}',
  description: 'Calls whose project logs prompts and answers.',
  by: 'gateway',
  labels: {
    result:
      'sent to metering, overloaded (too many were waiting), or lost (metering could not be reached for two minutes, or a gateway stopped)',
  },
});
const [sent, overloaded, lost] = [logs.of({ result: 'sent' }), logs.of({ result: 'overloaded' }), logs.of({ result: 'lost' })];

/** The logs of one gateway. */
export interface PromptLogs {
  /** Returns the log of a call, or undefined if its project logs nothing. */
  of(state: RequestState, body: JsonBody, format: Format, parsed: ParsedCall): CallLog | undefined;
  /** Sends what waits, for a short time. */
  stop(): Promise<void>;
}

/** Creates the set. */
export function createPromptLogs(deps: {
  metering: Pick<GatewayPeers['metering'], 'storePromptLogs'>;
  clock: Clock;
  log: Logger;
  rpcTimeoutMs: number;
  isOn: boolean;
  /** Characters that may wait. */
  queueCharsMax: number;
}): PromptLogs {
  const { metering, clock, log, rpcTimeoutMs, isOn, queueCharsMax } = deps;
  const outage = new Outage('metering', 'logged prompts and answers wait in memory for two minutes', clock, log);
  const waiting: { readonly log: CallLog; readonly size: number; readonly atMs: number }[] = [];
  let waitingChars = 0;
  let dropped = 0;
  let sending: Promise<void> | undefined;
  let isStopping = false;

  function add(ended: CallLog): void {
    if (waitingChars + ended.size > queueCharsMax) {
      overloaded.add();
      if (dropped >= droppedMax) return;
      ended.drop();
      dropped += 1;
    }
    waiting.push({ log: ended, size: ended.size, atMs: clock.monotonicMs() });
    waitingChars += ended.size;
    sending ??= sendAll().finally(() => (sending = undefined));
  }

  /** Takes the next logs, rendered. One that cannot be rendered is shown as lost. */
  function next(): Entry[] {
    const entries: Entry[] = [];
    for (let chars = 0; waiting.length > 0 && entries.length < entriesPerRequestMax && chars < charsPerRequestMax;) {
      const { log: one, size } = waiting.shift()!;
      waitingChars -= size;
      chars += size;
      try {
        const entry = one.entry();
        if (entry.log === undefined) dropped -= 1;
        entries.push(entry);
      } catch {
        // The error may quote the answer, which must not be in logs.
        lost.add();
        log.error('the answer of a call could not be rendered for the log of its project');
      }
    }
    return entries;
  }

  async function sendAll(): Promise<void> {
    for (;;) {
      // Also lets the clients of these calls have their answers first.
      await sleep(isStopping || waiting.length >= entriesPerRequestMax ? 0 : gatherMs);
      const [first] = waiting;
      if (first === undefined) return;
      const entries = next();
      if (entries.length > 0) await send(entries, first.atMs);
    }
  }

  async function send(entries: Entry[], sinceMs: number): Promise<void> {
    for (let pauseMs = pauseMsMin; ; pauseMs = Math.min(2 * pauseMs, pauseMsMax)) {
      try {
        await metering.storePromptLogs({ entries }, callContext({ caller: 'gateway', timeoutMs: rpcTimeoutMs }));
        sent.add(entries.length);
        return outage.ended();
      } catch (error) {
        outage.began(error);
        if (isStopping || hasReason(error, 'invalid_request') || clock.monotonicMs() - sinceMs > ageMsMax) return lost.add(entries.length);
      }
      await sleep(pauseMs, undefined, { ref: false });
    }
  }

  return {
    of({ project, neverLogPrompts }, body, format, parsed) {
      const days = project?.promptLogDays ?? 0;
      if (days === 0 || neverLogPrompts !== false || !isOn) return undefined;
      return new CallLog(body, format, parsed, days, add);
    },
    async stop() {
      isStopping = true;
      const end = new AbortController();
      await Promise.race([sending, sleep(rpcTimeoutMs, undefined, { signal: end.signal }).catch(() => undefined)]);
      end.abort();
      if (waiting.length > 0) lost.add(waiting.length);
    },
  };
}
