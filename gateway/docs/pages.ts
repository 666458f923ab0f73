// All pages of the docs: those written by hand, in reading order, and those generated from the code.
import { readFileSync } from 'node:fs';
import { root } from '#kit/root.js';
import { apiPage, consoleApiPage } from './api-page.js';
import { errorsPage } from './errors-page.js';
import { notOfferedPage } from './not-offered-page.js';

/** A page. */
export interface DocPage {
  /** The last segment of its address. */
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

/** All pages in the order in which they are listed. A test finds a file of `docs/` that is missing here. */
const sources: readonly Source[] = [
  { name: 'clients', description: 'Base address and key for each client library, with samples, and what to know about each.' },
  { name: 'api', description: 'Every route with its parameters, fields and responses, from the OpenAPI document.', make: apiPage },
  {
    name: 'errors',
    description: 'Every error reason in both formats: status, type, code, whether to retry, what to do.',
    make: errorsPage,
  },
  { name: 'not-offered', description: 'The paths of the vendors that are not offered, and what to use instead.', make: notOfferedPage },
  { name: 'charging', description: 'The charge line by line, for every possible outcome of a call.' },
  {
    name: 'budgets',
    description: 'What an account, a project or a key may spend per month, week or day, and what happens when it is spent.',
  },
  {
    name: 'rate-limits',
    description: 'Limits on requests, tokens and concurrent calls: how they count, the response, the headers, how to set them.',
  },
  { name: 'projects', description: 'Projects: keys that share models, limits and budgets, and how to set budgets.' },
  { name: 'refusals', description: 'Why a call was refused: found by request id, listed and counted.' },
  { name: 'idempotency', description: 'How to retry a call safely with the Idempotency-Key header.' },
  { name: 'console', description: 'The console: users, sign-in, roles, and what an operator sets up for them.' },
  { name: 'alerts', description: 'How users and programs are notified of a low balance, and how a webhook verifies the notifications.' },
  { name: 'payments', description: 'How users add money by Stripe Checkout, what is credited when, and refunds, for operators.' },
  {
    name: 'console-api',
    description: 'Every route that the console calls, with its parameters, fields and responses, from its OpenAPI document.',
    make: consoleApiPage,
  },
  { name: 'grpc', description: 'How internal services call Tollgate over gRPC with a certificate of their own.' },
  { name: 'configuration', description: 'Every setting with its default, for operators.' },
  { name: 'operations', description: 'How to size, deploy and scale several processes, and what the database needs, for operators.' },
  { name: 'routing', description: 'How calls are routed between upstreams, what happens when one fails, and its limits, for operators.' },
  {
    name: 'tracing',
    description: 'Traces of calls and logs over OpenTelemetry: what they contain, sampling, and their settings, for operators.',
  },
  { name: 'backup', description: 'How to back up and restore everything, and how to rotate the secret key, for operators.' },
  { name: 'rollouts', description: 'How to restart, upgrade and renew certificates without a failed call, for operators.' },
  { name: 'reconciling', description: 'How to check that the books agree, and what to do when they do not, for operators.' },
  { name: 'metrics', description: 'Every metric with its labels, for operators.' },
  { name: 'slos', description: 'Service level objectives and how alerts watch them, for operators.' },
  { name: 'storage', description: 'How the databases grow, and what to do about it, for operators.' },
  { name: 'capacity', description: 'What a machine serves, when to use several, and what is saturated first, for operators.' },
];

/** Reads and generates all pages; called once, at startup. Throws if a file is missing, because the installation is then incomplete. */
export function readDocPages(): DocPage[] {
  return sources.map(({ name, description, make }) => ({
    name,
    description,
    markdown: make?.() ?? readFileSync(new URL(`${name}.md`, docsFolder), 'utf8'),
  }));
}

/** The folder of the pages that are files. */
export const docsFolder = new URL('docs/', root);
