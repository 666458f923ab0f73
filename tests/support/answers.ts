// Makes calls of both formats and both kinds through one interface, and records what their client saw.
import { setTimeout as sleep } from 'node:timers/promises';
import { post } from './calls.js';
import type { System } from './system.js';

/** One way to call: the caller's format, streamed or whole, and the format of the upstream behind. */
export interface Combination {
  readonly client: 'chat-completions' | 'messages';
  readonly streaming: boolean;
  readonly upstream: 'cc' | 'm';
}

/** All eight. */
export const combinations: readonly Combination[] = (['chat-completions', 'messages'] as const).flatMap((client) =>
  [true, false].flatMap((streaming) => (['cc', 'm'] as const).map((upstream) => ({ client, streaming, upstream }))),
);

/** What the client has seen so far. */
export class Seen {
  /** Undefined if it disconnected before there was one. */
  status: number | undefined;
  requestId: string | undefined;
  text = '';
  /** Whether it got the end that its format has. */
  isComplete = false;
  error: { readonly type: string; readonly message: string } | undefined;
}

/** The text of the only message of the prompt. */
export const promptText = 'Hello there';

/** Calls and reads to the end, or until `leaving` aborts. `onText` is told after each read what was seen of the text. */
export async function call(
  system: System,
  secret: string,
  { client, streaming, upstream }: Combination,
  options: { maxTokens: number; clientRequestId: string; leaving?: AbortController; onText?: (text: string) => void; model?: string },
): Promise<Seen> {
  const seen = new Seen();
  const body = {
    model: options.model ?? `${upstream}/case`,
    max_tokens: options.maxTokens,
    stream: streaming,
    messages: [{ role: 'user', content: promptText }],
  };
  const init: RequestInit = {
    headers: { 'x-request-id': options.clientRequestId },
    ...(options.leaving === undefined ? {} : { signal: options.leaving.signal }),
  };
  try {
    const response = await post(system, client === 'messages' ? '/v1/messages' : '/v1/chat/completions', secret, body, init);
    seen.status = response.status;
    seen.requestId = response.headers.get('x-request-id')!;
    if (streaming && response.status === 200) {
      let rest = '';
      for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
        const frames = (rest + chunk).split('\n\n');
        rest = frames.pop()!;
        for (const frame of frames) readFrame(frame, seen);
        options.onText?.(seen.text);
        await sleep(0);
      }
    } else readWhole((await response.json()) as Json, seen);
  } catch (error) {
    // Disconnected by us, or cut off by the other side; fetch throws a TypeError of its own realm for that.
    if (options.leaving?.signal.aborted !== true && (error as Error).name !== 'TypeError') throw error;
  }
  return seen;
}

/** The fields of either format that are looked at, in whole answers, frames and errors. */
interface Json {
  readonly type?: string;
  readonly error?: { readonly type: string; readonly message: string };
  readonly choices?: readonly { readonly delta?: { readonly content?: string }; readonly message?: { readonly content?: string } }[];
  readonly content?: readonly { readonly text?: string }[];
  readonly delta?: { readonly text?: string };
}

function readFrame(frame: string, seen: Seen): void {
  const data = frame
    .split('\n')
    .find((line) => line.startsWith('data: '))
    ?.slice(6);
  if (data === undefined) return;
  if (data === '[DONE]') {
    seen.isComplete = true;
    return;
  }
  const json = JSON.parse(data) as Json;
  if (json.error !== undefined) seen.error = json.error;
  else if (json.type === 'message_stop') seen.isComplete = true;
  else seen.text += json.choices?.[0]?.delta?.content ?? (json.type === 'content_block_delta' ? (json.delta?.text ?? '') : '');
}

function readWhole(json: Json, seen: Seen): void {
  if (json.error !== undefined) {
    seen.error = json.error;
    return;
  }
  seen.text = json.choices?.[0]?.message?.content ?? json.content?.[0]?.text ?? '';
  seen.isComplete = true;
}
