// Reads a JSON request body, never more of it than allowed.
import { createGunzip, createInflate } from 'node:zlib';
import type { Context } from 'koa';
import { AppError } from '#kit/errors/app-error.js';

/** The parsed body. Raises body_too_large, or invalid_request when it is not JSON in UTF-8 or in an unknown encoding. */
export async function readJson(ctx: Context, bytesMax: number): Promise<unknown> {
  const declared = Number(ctx.get('content-length') || 0);
  if (declared > bytesMax) throw tooLarge(ctx, bytesMax);
  const bytes = await readBytes(ctx, bytesMax);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new AppError('invalid_request', 'The body is not valid UTF-8.', { cause: error });
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new AppError('invalid_request', `The body is not valid JSON: ${bytes.length === 0 ? 'it is empty' : (error as Error).message.slice(0, 200)}.`, { cause: error });
  }
}

function decoded(ctx: Context): AsyncIterable<Buffer> {
  const encoding = ctx.get('content-encoding').toLowerCase();
  // Reading that stops early must leave the connection open, or the caller sees a reset instead of the answer.
  if (encoding === '' || encoding === 'identity') return ctx.req.iterator({ destroyOnReturn: false });
  if (encoding === 'gzip' || encoding === 'x-gzip') return ctx.req.pipe(createGunzip());
  if (encoding === 'deflate') return ctx.req.pipe(createInflate());
  throw new AppError('invalid_request', `The content-encoding "${encoding.slice(0, 50)}" is not supported; send gzip, deflate or none.`, { details: { field: 'content-encoding' } });
}

async function readBytes(ctx: Context, bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let total = 0;
  try {
    for await (const chunk of decoded(ctx)) {
      total += chunk.length;
      if (total > bytesMax) throw tooLarge(ctx, bytesMax);
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError('invalid_request', 'The body could not be read to its end.', { cause: error });
  }
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, total);
}

function tooLarge(ctx: Context, bytesMax: number): AppError {
  // What is still on its way would have to be read before the connection could be used again.
  ctx.set('connection', 'close');
  return new AppError('body_too_large', `The body is larger than ${bytesMax} bytes.`, { details: { limit_bytes: String(bytesMax) } });
}
