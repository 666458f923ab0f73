// Reads a JSON request body, never more of it than allowed.
import { createGunzip, createInflate, type Gunzip, type Inflate } from 'node:zlib';
import type { Context } from 'koa';
import { AppError } from '#client/errors/app-error.js';
import { assertBounded } from './json-shape.js';

/** The parsed body. Raises body_too_large, or invalid_request when it is not JSON of a usual shape in UTF-8 or in an unknown encoding. */
export async function readJson(ctx: Context, bytesMax: number): Promise<unknown> {
  const bytes = await readBytes(ctx, bytesMax).catch((error: unknown) => {
    // What is still on its way would have to be read before the connection could be used again.
    ctx.set('connection', 'close');
    throw error;
  });
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new AppError('invalid_request', 'The body is not valid UTF-8.', { cause: error });
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new AppError(
      'invalid_request',
      `The body is not valid JSON: ${bytes.length === 0 ? 'it is empty' : (error as Error).message.slice(0, 200)}.`,
      { cause: error },
    );
  }
  assertBounded(value);
  return value;
}

function decoded(ctx: Context): AsyncIterable<Buffer> {
  const encoding = ctx.get('content-encoding').toLowerCase();
  // Reading that stops early must leave the connection open, or the caller sees a reset instead of the answer.
  if (encoding === '' || encoding === 'identity') return ctx.req.iterator({ destroyOnReturn: false });
  if (encoding === 'gzip' || encoding === 'x-gzip') return unpacked(ctx, createGunzip());
  if (encoding === 'deflate') return unpacked(ctx, createInflate());
  throw new AppError('invalid_request', `The content-encoding "${encoding.slice(0, 50)}" is not supported; send gzip, deflate or none.`, {
    details: { field: 'content-encoding' },
  });
}

function unpacked(ctx: Context, unpacker: Gunzip | Inflate): AsyncIterable<Buffer> {
  // A pipe does not pass on that its source broke off, and the unpacker would wait for the rest for ever.
  ctx.req.once('error', (error) => unpacker.destroy(error));
  return ctx.req.pipe(unpacker);
}

/** The body as it came, decompressed. Raises body_too_large and invalid_request. */
export async function readBytes(ctx: Context, bytesMax: number): Promise<Buffer> {
  const declared = Number(ctx.get('content-length') || 0);
  if (declared > bytesMax) throw tooLarge(bytesMax);
  const chunks: Buffer[] = [];
  let total = 0;
  try {
    for await (const chunk of decoded(ctx)) {
      total += chunk.length;
      if (total > bytesMax) throw tooLarge(bytesMax);
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError('invalid_request', 'The body could not be read to its end.', { cause: error });
  }
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, total);
}

function tooLarge(bytesMax: number): AppError {
  return new AppError('body_too_large', `The body is larger than ${bytesMax} bytes.`, { details: { limit_bytes: String(bytesMax) } });
}
