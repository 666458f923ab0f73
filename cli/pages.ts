// Lists that the services return in pages.
import type { Command } from 'commander';
import type { Cli } from './cli.js';
import type { View } from './output.js';
import { parseCount } from './options/parse.js';

const limitDefault = 50;
const limitMax = 100_000;
/** A single process serves no calls while it reads a page. */
export const pageSizeMax = 200;

/** The options that `withPaging` adds. */
export interface PageOptions {
  readonly limit: number;
  readonly all?: boolean;
  readonly page?: string;
}

/** One page of a list. */
export interface Page<T> {
  readonly items: readonly T[];
  /** Empty on the last page. */
  readonly nextPageToken: string;
}

/** Adds --limit, --all and --page. */
export function withPaging(command: Command): Command {
  return command
    .option('--limit <count>', 'the maximum number of items', (text) => parseCount(text, 1, limitMax), limitDefault)
    .option('--all', 'list all items')
    .option('--page <token>', 'continue a previous list with the token that it printed');
}

/** Lists what `fetch` returns, page by page, and prints how to continue when there is more. */
export async function listPages<T>(
  cli: Cli,
  view: View<T>,
  options: PageOptions,
  fetch: (pageSize: number, pageToken: string) => Promise<Page<T>>,
): Promise<void> {
  const table = cli.out.table(view);
  let wanted = options.all === true ? Number.POSITIVE_INFINITY : options.limit;
  let token = options.page ?? '';
  do {
    const page = await fetch(Math.min(wanted, pageSizeMax), token);
    table.add(page.items);
    wanted -= page.items.length;
    token = page.nextPageToken;
  } while (token !== '' && wanted > 0);
  table.end();
  if (token !== '') cli.out.aside(`There are more: add --page ${token} to continue, or --all.`);
}
