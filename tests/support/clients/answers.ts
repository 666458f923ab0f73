// Makes calls of both formats and both kinds through one interface, and records what their client saw.
import { setTimeout as sleep } from 'node:timers/promises';
import { post } from './calls.js';
import type { System } from '../systems/system.js';

/** A kind of call: the caller's format, streamed or whole, and the format of the upstream. */
export interface Combination {
  readonly client: 'chat-completions' | 'messages';
  readonly streaming: boolean;
  readonly upstream: 'cc' | 'm';
}

/** All eight combinations. */
export const combinations: readonly Combination[] = (['chat-completions', 'messages'] as const).flatMap((client) =>
  [true, false].flatMap((streaming) => (['cc', 'm'] as const).map((upstream) => ({ client, streaming, upstream }))),
);

/** What the client has seen so far. */
export class Seen {
  /** Undefined if the client disconnected before there was one. */
  status: number | undefined;
  requestId: string | undefined;
  text = '';
  /** Whether the client received the end of the answer. */
  isComplete = false;
  error: { readonly type: string; readonly message: string } | undefined;
}

/** The text of the only message of the prompt. */
export const promptText = 'Hello there';

/** Makes a call and reads to the end, or until `disconnect` aborts. Calls `onText` after each read with the text so far. */
export async function call(
  system: System,
  secret: string,
  { client, streaming, upstream }: Combination,
  options: { maxTokens: number; clientRequestId: string; disconnect?: AbortController; onText?: (text: string) => void; model?: string },
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
    ...(options.disconnect === undefined ? {} : { signal: options.disconnect.signal }),
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
    // The client disconnected, or the gateway broke off; fetch throws a TypeError of its own realm in both cases.
    if (options.disconnect?.signal.aborted !== true && (error as Error).name !== 'TypeError') throw error;
  }
  return seen;
}

/** The fields of both formats that are read from whole answers, frames and errors. */
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
