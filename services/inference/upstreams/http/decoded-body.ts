// Undoes the compression of servers that compress although they were asked not to.
import { pipeline, type Readable } from 'node:stream';
import { constants, createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import { AppError } from '#client/errors/app-error.js';

type Body = Readable & AsyncIterable<Uint8Array>;

// A flush of the server's is passed on at once, so that a compressed stream of events is still one; and a body that breaks off gives
// what has arrived. What comes out is read through the same bounds as a plain body.
const zlibOptions = { flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH };

const decoders: Readonly<Record<string, () => NodeJS.ReadWriteStream & Body>> = {
  gzip: () => createGunzip(zlibOptions),
  'x-gzip': () => createGunzip(zlibOptions),
  deflate: () => createInflate(zlibOptions),
  br: () => createBrotliDecompress({ flush: constants.BROTLI_OPERATION_FLUSH }),
  zstd: () => createZstdDecompress(),
};

/** The body as it was before `content-encoding`. Raises upstream_failed for an encoding that we do not know. */
export function decodedBody(body: Body, encoding: string | undefined): Body {
  const name = (encoding ?? '').trim().toLowerCase();
  if (name === '' || name === 'identity') return body;
  const decoder = Object.hasOwn(decoders, name) ? decoders[name]!() : undefined;
  if (decoder === undefined) {
    throw new AppError('upstream_failed', 'The upstream sent an answer that cannot be read.', {
      cause: new Error(`content-encoding "${name.slice(0, 200)}"`),
    });
  }
  // Either side's failure ends the other, and is raised to whoever reads.
  pipeline(body, decoder, () => {});
  return decoder;
}
