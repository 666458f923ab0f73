// Lists that services return in pages.

/** Reads a list from its first page to its last. Raises what `fetch` raises. */
export async function* pagesOf<P extends { readonly nextPageToken: string }>(
  fetch: (pageToken: string) => Promise<P>,
): AsyncGenerator<P, void, undefined> {
  let pageToken = '';
  do {
    const page = await fetch(pageToken);
    yield page;
    pageToken = page.nextPageToken;
  } while (pageToken !== '');
}
