// Keyset pages: a page begins after the last id of the previous one, so that no row is skipped or repeated while others are added.
import { fieldFault } from '#client/errors/fault.js';
import { idToBytes } from '#kit/id.js';

const pageSizeMax = 1000;
const pageSizeDefault = 100;

/** Holds the paging fields of a request. */
export interface PageRequest {
  readonly pageSize: number;
  readonly pageToken: string;
}

/** Holds the size and the start of a requested page. */
export interface PageStart {
  readonly size: number;
  /** The id after which the page begins; undefined for the first page. */
  readonly after: Buffer | undefined;
}

/** Holds one page. */
export interface Page<T> {
  readonly items: T[];
  readonly nextPageToken: string;
}

/** Parses the paging fields of a list whose ids have this prefix. Raises invalid_request. */
export function parsePageRequest(request: PageRequest, idPrefix: string): PageStart {
  const { pageSize, pageToken } = request;
  if (pageSize > pageSizeMax) throw fieldFault('page_size', 'at_most', { max: pageSizeMax });
  const size = pageSize === 0 ? pageSizeDefault : pageSize;
  if (pageToken === '') return { size, after: undefined };
  const after = idToBytes(idPrefix, Buffer.from(pageToken, 'base64url').toString());
  if (after === undefined) throw fieldFault('page_token', 'page_token');
  return { size, after };
}

/** Returns a page of the results of `list`. Reads one row more than the page holds, to know whether there is another page. */
export async function readPage<T extends { id: string }>(
  start: PageStart,
  list: (after: Buffer | undefined, limit: number) => Promise<T[]>,
): Promise<Page<T>> {
  const found = await list(start.after, start.size + 1);
  const items = found.slice(0, start.size);
  const last = items.at(-1);
  const nextPageToken = found.length > items.length && last !== undefined ? Buffer.from(last.id).toString('base64url') : '';
  return { items, nextPageToken };
}
