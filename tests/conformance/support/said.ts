// What the upstream was told, in the words of its format.
import type { Json } from '../../upstream/check.js';
import type { Outcome } from './gateway.js';

/** The messages of the request that the upstream got. */
export function messagesSent({ sent }: Outcome): Json[] {
  return sent?.body['messages'] as Json[];
}

/** All content blocks or parts of these messages, in order; a text alone counts as one. */
export function blocksSent(outcome: Outcome): Json[] {
  return messagesSent(outcome).flatMap(({ content }) =>
    typeof content === 'string' ? [{ type: 'text', text: content }] : ((content ?? []) as Json[]),
  );
}

/** The fields that the caller was told had no effect. */
export function droppedIn({ headers }: Outcome): string[] {
  return (headers.get('x-tollgate-dropped-params') ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}
