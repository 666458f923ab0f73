// The vendor's own id of a request, as its response headers give it. Pure.
import { redact } from '../upstream-failure.js';
import type { Headers } from './wire.js';

const plain = /^[\w.:/+=-]{1,128}$/;

/** The id; empty where there is none, or where it is a text, or looks like a credential: operators see it on records. */
export function requestIdOf(headers: Headers): string {
  const id = headers['x-request-id'] ?? headers['request-id'] ?? '';
  return plain.test(id) && redact(id) === id ? id : '';
}
