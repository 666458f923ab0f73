// Reads what was sent to the upstream, in the upstream's format.
import type { Json } from '../../upstream/checks/check.js';
import type { Outcome } from './gateway.js';

/** Returns the messages, or input items, of the request to the upstream. */
export function messagesSent({ sent }: Outcome): Json[] {
  return (sent?.body['messages'] ?? sent?.body['input']) as Json[];
}

/** Returns all content blocks or parts of these messages, in order; a plain text counts as one. */
export function blocksSent(outcome: Outcome): Json[] {
  return messagesSent(outcome).flatMap(({ content }) =>
    typeof content === 'string' ? [{ type: 'text', text: content }] : ((content ?? []) as Json[]),
  );
}

/** Returns the fields that were reported to the caller as dropped. */
export function droppedIn({ headers }: Outcome): string[] {
  return (headers.get('x-tollgate-dropped-params') ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}
