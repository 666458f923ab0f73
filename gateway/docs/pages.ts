// All pages of the docs: those written by hand, in the order in which they are read, and those made from the code.
import { existsSync, readFileSync } from 'node:fs';
import { apiPage, consoleApiPage } from './api-page.js';
import { errorsPage } from './errors-page.js';

/** A page. */
export interface DocPage {
  /** Its last part in the address. */
  readonly name: string;
  /** One line for lists of pages and for search engines. */
  readonly description: string;
  /** As it is served at `/docs/<name>.md`. */
  readonly markdown: string;
}

interface Source {
  readonly name: string;
  readonly description: string;
  /** Absent: the file `docs/<name>.md`. */
  readonly make?: () => string;
}

/** In the order of lists. A test finds a file of `docs/` that is missing here. */
const sources: readonly Source[] = [
  { name: 'clients', description: 'Base address and key for each client library, with samples, and what to know of each.' },
  { name: 'api', description: 'Every route with its parameters, fields and answers, from the OpenAPI document.', make: apiPage },
  {
    name: 'errors',
    description: 'Every reason for a refusal in both formats: status, type, code, whether to repeat, what to do.',
    make: errorsPage,
  },
  { name: 'charging', description: 'The charge line by line, for every way in which a call can end.' },
  { name: 'idempotency', description: 'How to repeat a call safely with the header Idempotency-Key.' },
  { name: 'console', description: 'The console: people, how they sign in, roles, and what an operator sets up for them.' },
  { name: 'alerts', description: 'How people and programs are told that a balance is low, and how a webhook verifies what it is sent.' },
  { name: 'payments', description: 'How people add money by Stripe Checkout, what is credited when, and refunds, for operators.' },
  {
    name: 'console-api',
    description: 'Every route that the console asks, with its parameters, fields and answers, from its OpenAPI document.',
    make: consoleApiPage,
  },
  { name: 'configuration', description: 'Every setting with its default, for operators.' },
  { name: 'reconciling', description: 'How to see that the books agree, and what to do when they do not, for operators.' },
  { name: 'storage', description: 'How the databases grow, and what to do about it, for operators.' },
];

/** Reads and makes all pages; done once, at the start. Raises when a file is missing, for then the installation is incomplete. */
export function readDocPages(): DocPage[] {
  const folder = docsFolder();
  return sources.map(({ name, description, make }) => ({
    name,
    description,
    markdown: make?.() ?? readFileSync(new URL(`${name}.md`, folder), 'utf8'),
  }));
}

/** The folder beside package.json, from the sources as from the built program, which stands one folder deeper. */
export function docsFolder(): URL {
  const root = ['../../', '../../../']
    .map((path) => new URL(path, import.meta.url))
    .find((each) => existsSync(new URL('package.json', each)));
  if (root === undefined) throw new Error('The folder of package.json, beside which docs/ stands, was not found.');
  return new URL('docs/', root);
}
