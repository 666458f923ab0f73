// Fixtures for the tests of inference.
import { randomBytes } from 'node:crypto';
import { type Clock, systemClock } from '#kit/clock.js';
import { fixedSecretKeys } from '#kit/secrets/secret-keys.js';
import { parseSettings } from '#kit/config/settings.js';
import { openDatabase } from '#kit/db/open.js';
import { callContext } from '#client/call-context.js';
import { type LogLine, recordingLogger } from '#kit/testing/log.js';
import { recordedAudit } from '#kit/testing/audit.js';
import {
  ApiFormat,
  type Event,
  GenerateRequest,
  type GenerateResponse,
  type InferenceService,
  Role,
  Upstream,
} from '#proto/inference/v1/inference.js';
import { type InferenceConfig, inferenceSettings } from '../config.js';
import { createInference } from '../index.js';
import type { StreamDecoder } from '../upstreams/answers/stream-decoder.js';

/** Returns the default settings with some changes. */
export function testConfig(changes: Partial<InferenceConfig> = {}): InferenceConfig {
  // Many tests make an upstream fail, and each failure is retried after this pause.
  return { ...parseSettings(inferenceSettings, {}), retryPauseMs: 10, ...changes };
}

/** Returns a request with one user message and the other fields given. */
export function textRequest(text: string, rest: Parameters<typeof GenerateRequest.fromPartial>[0] = {}): GenerateRequest {
  return GenerateRequest.fromPartial({
    callId: 'req_test',
    targets: [{ upstreamId: 'sandbox', upstreamModel: 'echo' }],
    prompt: { messages: [{ role: Role.ROLE_USER, parts: [{ part: { $case: 'text', value: { text } } }] }] },
    maxOutputTokens: 1000,
    ...rest,
  });
}

/** Returns an upstream at an address of this machine: "cc" in chat-completions format, except for the fields given. */
export function localUpstream(baseUrl: string, rest: Parameters<typeof Upstream.fromPartial>[0] = {}): Upstream {
  const apiFormat = ApiFormat.API_FORMAT_CHAT_COMPLETIONS;
  return Upstream.fromPartial({ id: 'cc', apiFormat, baseUrl, allowPrivateNetwork: true, enabled: true, ...rest });
}

/** Inference on an in-memory database. */
export interface TestInference {
  readonly service: InferenceService;
  readonly lines: LogLine[];
  stop(): Promise<void>;
}

/** Starts inference with these settings. */
export async function startInference(changes: Partial<InferenceConfig> = {}, clock: Clock = systemClock): Promise<TestInference> {
  const db = openDatabase('sqlite::memory:');
  const { log, lines } = recordingLogger('debug');
  const inference = createInference(testConfig(changes), {
    db,
    clock,
    log,
    secretKeys: fixedSecretKeys(randomBytes(32)),
    auth: recordedAudit(),
  });
  await inference.start();
  return {
    service: inference.service,
    lines,
    async stop() {
      await inference.stop();
      await db.close();
    },
  };
}

/** Returns all messages of one call. */
export async function collect(service: InferenceService, request: GenerateRequest, signal?: AbortSignal): Promise<GenerateResponse[]> {
  const messages: GenerateResponse[] = [];
  for await (const message of service.generate(request, callContext({ caller: 'gateway', ...(signal === undefined ? {} : { signal }) })))
    messages.push(message);
  return messages;
}

/** Returns the events of the messages in one list. */
export function eventsOf(messages: readonly GenerateResponse[]): NonNullable<Event['event']>[] {
  return messages.flatMap(({ events }) => events.map(({ event }) => event!));
}

/** Decodes payloads and the end of the body; objects are passed as JSON. */
export function decoded<D extends StreamDecoder>(
  decoder: D,
  payloads: readonly unknown[],
): { words: string[]; events: Event[]; decoder: D } {
  const events: Event[] = [];
  for (const payload of payloads) events.push(...decoder.push(typeof payload === 'string' ? payload : JSON.stringify(payload)));
  events.push(...decoder.end());
  return { words: summary(eventsOf([{ events, usageSoFar: undefined }])), events, decoder };
}

/** Returns the events as short words, for example "text+", "'Hel'", "text-". Deltas of one block are joined. */
export function summary(events: readonly NonNullable<Event['event']>[]): string[] {
  const words: string[] = [];
  let joins = false;
  for (const event of events) {
    if (event.$case === 'blockDelta' && joins && event.value.delta?.$case !== 'signature') {
      words[words.length - 1] += event.value.delta?.value ?? '';
      continue;
    }
    joins = event.$case === 'blockDelta' && event.value.delta?.$case !== 'signature';
    words.push(word(event));
  }
  return words;
}

function word(event: NonNullable<Event['event']>): string {
  switch (event.$case) {
    case 'started':
      return 'started';
    case 'blockStart': {
      const { index, block } = event.value;
      const detail =
        block?.$case === 'toolCall'
          ? `(${block.value.id},${block.value.name})`
          : block?.$case === 'reasoning'
            ? block.value.redactedData
            : '';
      return `${index}:${block?.$case}${detail}`;
    }
    case 'blockDelta':
      return `${event.value.delta?.$case === 'signature' ? 'signature=' : ''}${event.value.delta?.value}`;
    case 'blockStop':
      return `${event.value.index}.`;
    case 'foreign':
      return `foreign ${event.value.json}`;
    case 'embedding':
      return `vector ${event.value.index}`;
    case 'finished':
      return `finished ${event.value.stopReason}${event.value.stopSequence}`;
  }
}

/** Returns the last event of a complete answer. */
export function finishedOf(messages: readonly GenerateResponse[]): Extract<NonNullable<Event['event']>, { $case: 'finished' }>['value'] {
  const last = eventsOf(messages).at(-1);
  if (last?.$case !== 'finished') throw new Error('The answer did not finish.');
  return last.value;
}
