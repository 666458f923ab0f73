// How a retry of an official client library is recognised: by the header that counts its retries, and by a hash of the request.
import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { GenerateRequest } from '#proto/inference/v1/inference.js';
import type { ParsedCall } from '../../formats/format.js';

const counts = /^\d{1,3}$/;
const firstPauseMs = 500;
const pauseMsMax = 8000;

/** Returns how often the client library has sent the request before, or undefined if it does not say so and may not retry at all. */
export function retryCountOf(headers: IncomingHttpHeaders): number | undefined {
  const count = headers['x-stainless-retry-count'];
  return typeof count === 'string' && counts.test(count) ? Number(count) : undefined;
}

/** Returns the longest pause that the official libraries make before the next retry. */
export function pauseBeforeRetryMs(retryCount: number): number {
  return Math.min(firstPauseMs * 2 ** retryCount, pauseMsMax);
}

/** What a retry repeats. */
export interface RepeatedRequest {
  /** The headers with the platform key, as they were sent. */
  readonly credentials: string;
  /** The name of the API format. */
  readonly format: string;
  /** The version of the API format, if the format has versions. */
  readonly version: string;
  readonly parsed: ParsedCall;
}

/** Returns a key under which a request and its retries, and no others, find their call. Nobody can guess it without the platform key. */
export function retryKeyOf({ credentials, format, version, parsed }: RepeatedRequest): string {
  const { model, streaming, includeUsage, maxOutputTokens, request } = parsed;
  const hash = createHash('sha256')
    .update(JSON.stringify([credentials, format, version, model, streaming, includeUsage, maxOutputTokens ?? null]))
    .update(GenerateRequest.encode(request).finish());
  return hash.digest('base64');
}
