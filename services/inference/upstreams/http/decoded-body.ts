// Decompresses the bodies of servers that compress although the request asked them not to.
import { pipeline, Readable } from 'node:stream';
import { constants, createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import { AppError } from '#client/errors/app-error.js';

type Body = AsyncIterable<Uint8Array>;

// A flush by the server is passed on immediately, so that a compressed stream of events still streams; and a body that breaks off yields
// what has arrived. The output is read within the same limits as a plain body.
const zlibOptions = { flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH };

const decoders: Readonly<Record<string, () => NodeJS.ReadWriteStream & Body>> = {
  gzip: () => createGunzip(zlibOptions),
  'x-gzip': () => createGunzip(zlibOptions),
  deflate: () => createInflate(zlibOptions),
  br: () => createBrotliDecompress({ flush: constants.BROTLI_OPERATION_FLUSH }),
  zstd: () => createZstdDecompress(),
};

/** Returns the body with its `content-encoding` removed. Raises upstream_failed for an unknown encoding. */
export function decodedBody(body: Body, encoding: string | undefined): Body {
  const name = (encoding ?? '').trim().toLowerCase();
  if (name === '' || name === 'identity') return body;
  const decoder = Object.hasOwn(decoders, name) ? decoders[name]!() : undefined;
  if (decoder === undefined) {
    throw new AppError('upstream_failed', 'The upstream sent an answer that cannot be read.', {
      cause: new Error(`content-encoding "${name.slice(0, 200)}"`),
    });
  }
  // A failure on either side ends the other, and is raised to the reader.
  pipeline(Readable.from(body), decoder, () => {});
  return decoder;
}
