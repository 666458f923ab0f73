// Files of any length, which are sent page by page.
import { Readable } from 'node:stream';
import { Pacer } from '#kit/scheduling/pacer.js';
import { stillActing } from '../session/call-contexts.js';

/** How many items are read at once: a single process serves no calls while it reads and renders a page. */
export const exportPageSize = 200;

/** Returns the pages of a file as a stream. They are produced on behalf of the user of the current request, and calls are served between them. */
export function exportFile(pages: AsyncIterable<string>): Readable {
  return Readable.from(stillActing(paced(pages)));
}

async function* paced(pages: AsyncIterable<string>): AsyncGenerator<string, void, void> {
  const pacer = new Pacer();
  for await (const page of pages) {
    yield page;
    await pacer.step();
  }
}
