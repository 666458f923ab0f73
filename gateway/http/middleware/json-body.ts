// Reads a JSON request body, never more than the allowed size.
import type { Readable } from 'node:stream';
import { createGunzip, createInflate, type Gunzip, type Inflate } from 'node:zlib';
import type { Context } from 'koa';
import { AppError, hasReason } from '#client/errors/app-error.js';
import { decodeUtf8 } from '#kit/utf8.js';
import { inexact, parseExactly } from '#rules/wire/exact-json.js';
import { stateOf } from '../request-state.js';
import { type JsonOutline, outlineOf, trusted } from './json-outline.js';

/** A body that was parsed from JSON. */
export interface JsonBody {
  readonly value: unknown;
  /** As it was received. */
  readonly whole: string;
  /** The text of its parts, if it may be passed on in place of the parsed value. Absent for small bodies, whose text is not worth keeping. */
  readonly text?: JsonOutline;
}

/** Printing a shorter body takes no longer than finding its fields in the text. */
const largeChars = 4096;

/** Changes of keys take effect within about this time. */
const renewAfterMs = 1000;

/**
 * Returns the parsed body. Throws body_too_large, or invalid_request if it is not UTF-8 JSON of a bounded shape or has an unknown content encoding, and
 * what authentication throws if the key of the request may no longer be used.
 */
export async function readJson(ctx: Context, bytesMax: number): Promise<unknown> {
  return (await readJsonBody(ctx, bytesMax)).value;
}

/** Returns the parsed body and its text. Throws as `readJson`, and what `check` throws before the body is parsed. */
export async function readJsonBody(ctx: Context, bytesMax: number, check?: (outline: JsonOutline) => void): Promise<JsonBody> {
  const beganAtMs = performance.now();
  const { chunks, bytes } = await readChunks(ctx, bytesMax);
  // A client could otherwise begin requests with a key, and send the end of their bodies after it was revoked.
  if (performance.now() - beganAtMs > renewAfterMs) await stateOf(ctx).renewKey?.();
  let text: string;
  try {
    text = decodeUtf8(chunks, bytes);
  } catch (error) {
    throw new AppError('invalid_request', 'The body is not valid UTF-8.', { cause: error });
  }
  // The request keeps its listeners until the response has ended, and would keep the body with them.
  chunks.length = 0;
  const outline = outlineOf(text);
  check?.(outline);
  let value: unknown;
  try {
    value = outline.hasLongNumbers ? exactly(text) : JSON.parse(text);
  } catch (error) {
    throw new AppError(
      'invalid_request',
      `The body is not valid JSON: ${bytes === 0 ? 'it is empty' : (error as Error).message.slice(0, 200)}.`,
      { cause: error },
    );
  }
  if (text.length < largeChars) return { value, whole: text };
  // Numbers that keep their digits are objects, which would be counted as such.
  return { value, whole: text, text: trusted(outline, outline.hasLongNumbers ? JSON.parse(text) : value) };
}

/** Parses a body whose nested values, such as the arguments of tools, keep all digits of their numbers. Fields of the body itself are ordinary numbers. */
function exactly(text: string): unknown {
  const value = parseExactly(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return inexact(value);
  for (const [name, field] of Object.entries(value)) {
    const number = inexact(field);
    if (number !== field) (value as Record<string, unknown>)[name] = number;
  }
  return value;
}

function decoded(ctx: Context): Readable {
  const encoding = ctx.get('content-encoding').toLowerCase();
  if (encoding === '' || encoding === 'identity') return ctx.req;
  if (encoding === 'gzip' || encoding === 'x-gzip') return unpacked(ctx, createGunzip());
  if (encoding === 'deflate') return unpacked(ctx, createInflate());
  throw new AppError('invalid_request', `The content-encoding "${encoding.slice(0, 50)}" is not supported; send gzip, deflate or none.`, {
    details: { field: 'content-encoding' },
  });
}

function unpacked(ctx: Context, unpacker: Gunzip | Inflate): Readable {
  // A pipe does not propagate that its source was aborted, and the decompressor would wait for the rest forever.
  ctx.req.once('error', (error) => unpacker.destroy(error));
  return ctx.req.pipe(unpacker);
}

/** A body as it arrived. */
interface Chunks {
  readonly chunks: Buffer[];
  readonly bytes: number;
}

/** Returns the raw body, decompressed. Throws body_too_large, invalid_request, upload_too_slow, and overloaded if bodies take too much memory. */
export async function readBytes(ctx: Context, bytesMax: number): Promise<Buffer> {
  const { chunks, bytes } = await readChunks(ctx, bytesMax);
  return Buffer.concat(chunks, bytes);
}

function readChunks(ctx: Context, bytesMax: number): Promise<Chunks> {
  return received(ctx, bytesMax).catch((error: unknown) => {
    // The rest of a body that is too large, or all of one that cannot be read, is read and dropped: a client that sends it before it reads the
    // response would see a reset. Otherwise the connection cannot be reused, because the rest is not read.
    if (hasReason(error, 'body_too_large') || ctx.req.readableFlowing === null) ctx.req.unpipe().resume();
    else ctx.set('connection', 'close');
    throw error;
  });
}

async function received(ctx: Context, bytesMax: number): Promise<Chunks> {
  const declared = Number(ctx.get('content-length') || 0);
  if (declared > bytesMax) throw tooLarge(bytesMax);
  // The client disconnected before the body was read. A decompressor would wait for it forever.
  if (ctx.req.destroyed) throw broken(ctx.req.errored);
  const body = decoded(ctx);
  // By its events: an iterator of the stream costs more than parsing a short body.
  const { bodies, key } = stateOf(ctx);
  return new Promise<Chunks>((resolve, reject) => {
    const chunks: Buffer[] = [];
    let total = 0;
    const refuse = (error: unknown): void => {
      reject(error);
      guarded?.end();
      chunks.length = 0;
      // The connection stays open, or the client would see a reset instead of the response.
      if (body === ctx.req) body.removeAllListeners('data').pause();
      else body.destroy();
    };
    const guarded = bodies?.begin(key?.accountId ?? '', refuse);
    body.on('data', (chunk: Buffer) => {
      total += chunk.length;
      if (total > bytesMax) return refuse(tooLarge(bytesMax));
      try {
        guarded?.add(chunk.length);
      } catch (error) {
        return refuse(error);
      }
      chunks.push(chunk);
    });
    body.once('end', () => {
      guarded?.end();
      resolve({ chunks, bytes: total });
    });
    body.on('error', (error) => reject(broken(error)));
    body.once('close', () => {
      guarded?.end();
      if (!body.readableEnded) reject(broken(body.errored));
    });
  });
}

function broken(cause: unknown): AppError {
  return new AppError('invalid_request', 'The body could not be read completely.', { cause });
}

function tooLarge(bytesMax: number): AppError {
  return new AppError('body_too_large', `The body is larger than ${bytesMax} bytes.`, { details: { limit_bytes: String(bytesMax) } });
}
