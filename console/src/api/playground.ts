// A call from the playground, charged to a key, with its streamed answer.
import { EventSourceParserStream } from 'eventsource-parser/stream';
import { fetchErrors } from '../i18n/error-text.js';
import { ApiError, apiUrl, errorOf } from './client.js';

/** A turn of a conversation. */
export interface Turn {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

/** The request. */
export interface PlaygroundCall {
  readonly model: string;
  readonly messages: readonly Turn[];
  readonly max_tokens?: number;
  readonly temperature?: number;
}

/** A piece of an answer. */
export interface Piece {
  readonly text: string;
  readonly reasoning: string;
}

interface Chunk {
  readonly choices?: readonly {
    readonly delta?: { readonly content?: string | null; readonly reasoning_content?: string | null; readonly refusal?: string | null };
  }[];
  readonly error?: { readonly message: string; readonly reason?: string };
}

/** Returns the request body, the same that any client would send to the API. */
export const bodyOf = (call: PlaygroundCall): object => ({ ...call, stream: true });

/** Makes the call: yields pieces until the answer is complete and recorded. Throws only ApiError, even if there is no answer or the signal aborts. */
export async function* callModel(...call: Parameters<typeof pieces>): AsyncGenerator<Piece, void, void> {
  try {
    yield* pieces(...call);
  } catch (error) {
    throw error instanceof ApiError ? error : new ApiError(0, 'unanswered', 'Tollgate cannot be reached.');
  }
}

async function* pieces(
  accountId: string,
  keyId: string,
  call: PlaygroundCall,
  signal: AbortSignal,
  onBegun: (requestId: string) => void,
): AsyncGenerator<Piece, void, void> {
  const response = await fetch(apiUrl(`/accounts/${accountId}/keys/${keyId}/chat/completions`), {
    method: 'POST',
    credentials: 'same-origin',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream', 'x-tollgate-console': '1' },
    body: JSON.stringify(bodyOf(call)),
    signal,
  });
  const requestId = response.headers.get('x-request-id') ?? '';
  if (!response.ok || response.body === null) {
    await fetchErrors();
    throw errorOf(response, await response.text());
  }
  // An answer that did not come from Tollgate has no id, by which a record could be found.
  if (requestId !== '') onBegun(requestId);
  const events = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream()).getReader();
  for (;;) {
    const { done, value } = await events.read();
    // Without the final event, the answer is not complete.
    if (done) throw new ApiError(0, 'unanswered', 'Tollgate cannot be reached.', null, requestId);
    if (value.data === '[DONE]') return;
    const chunk = JSON.parse(value.data) as Chunk;
    if (chunk.error !== undefined) {
      await fetchErrors();
      throw new ApiError(200, chunk.error.reason ?? 'upstream_failed', chunk.error.message, null, requestId);
    }
    const delta = chunk.choices?.[0]?.delta;
    const piece = { text: (delta?.content ?? '') + (delta?.refusal ?? ''), reasoning: delta?.reasoning_content ?? '' };
    if (piece.text !== '' || piece.reasoning !== '') yield piece;
  }
}
