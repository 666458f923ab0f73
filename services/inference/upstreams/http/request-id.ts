// Reads the vendor's own id of a request from its response headers. Pure.
import { redact } from '../upstream-failure.js';
import type { Headers } from './wire.js';

const plain = /^[\w.:/+=-]{1,128}$/;

/** Returns the id; empty if there is none, or if it is free text or looks like a credential: operators see it on records. */
export function requestIdOf(headers: Headers): string {
  const id = headers['x-request-id'] ?? headers['request-id'] ?? '';
  return plain.test(id) && redact(id) === id ? id : '';
}
