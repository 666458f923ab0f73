// All pages of the docs: those written by hand, in reading order, and those generated from the code.
import { readdirSync, readFileSync } from 'node:fs';
import { root } from '#kit/root.js';
import { apiPage, consoleApiPage } from './api/api-page.js';
import { type Audience, audiences, type DocPage } from './doc-page.js';
import { errorPages, errorsPage } from './errors/errors-page.js';
import { notOfferedPage } from './errors/not-offered-page.js';
import { once } from './once.js';
import { withPlaceholders } from './placeholders.js';
import { webhooksPage } from './webhooks-page.js';

interface Source {
  readonly name: string;
  /** The name of the page in a list, if it is not its title. */
  readonly menu?: string;
  readonly description: string;
  /** Its heading, if it is generated only when it is first read, because that takes up to a twentieth of a second. */
  readonly title?: string;
  /** Absent: the file `docs/<name>.md`. */
  readonly make?: () => string;
}

/** All pages in the order in which they are listed. A test finds a file of `docs/` that is missing here. */
const sources: Readonly<Record<Audience, readonly Source[]>> = {
  callers: [
    {
      name: 'clients',
      menu: 'Clients',
      description: 'Base URL and key for each client library, with samples, and what to know about each.',
    },
    {
      name: 'api',
      title: 'API reference',
      description: 'Every route with its parameters, fields and responses, from the OpenAPI document.',
      make: apiPage,
    },
    {
      name: 'errors',
      title: 'Errors',
      description: 'Every error reason: status, type and code in each format, whether to retry, what to do.',
      make: errorsPage,
    },
    { name: 'not-offered', description: 'The paths of the vendors that are not offered, and what to use instead.', make: notOfferedPage },
    {
      name: 'rate-limits',
      description: 'Limits on requests, tokens and concurrent calls: how they count, the response, the headers, how to set them.',
    },
    { name: 'idempotency', menu: 'Idempotency', description: 'How to retry a call safely with the Idempotency-Key header.' },
    {
      name: 'stored-responses',
      description:
        'How answers of the responses format are stored and continued, who can read them, for how long, and how to switch it off.',
    },
    { name: 'charging', menu: 'Charges', description: 'The charge line by line, for every possible outcome of a call.' },
    { name: 'changelog', description: 'What changed for callers, account owners and operators, newest first.' },
  ],
  owners: [
    { name: 'console', menu: 'Console', description: 'The console: users, sign-in, roles, and what an operator sets up for them.' },
    {
      name: 'second-factor',
      menu: 'Second factor',
      description:
        'Authenticator apps, passkeys and recovery codes: how to set them up, when they are needed, and how operators require and remove them.',
    },
    {
      name: 'keys',
      description: 'Platform keys and their allowed addresses, and management keys for programs that create platform keys and read usage.',
    },
    { name: 'projects', description: 'Projects: keys that share models, limits and budgets, and how to set budgets.' },
    {
      name: 'budgets',
      description: 'What an account, a project or a key may spend per month, week or day, and what happens when it is spent.',
    },
    { name: 'refusals', description: 'Why a call was refused: found by request id, listed and counted.' },
    {
      name: 'prompt-log',
      description: 'Prompts and answers: how a project logs them, what is kept and for how long, and who may read it.',
    },
    { name: 'alerts', description: 'How users are notified of a low balance, of budgets and of refused keys.' },
    {
      name: 'webhooks',
      description: 'Events that are posted to your own addresses: every payload, signatures, retries and the log.',
      make: () => webhooksPage(read('webhooks.md')),
    },
    { name: 'csv', description: 'The columns of the files of usage records and statements.' },
    {
      name: 'console-api',
      title: 'Console API reference',
      description: 'Every route that the console calls, with its parameters, fields and responses, from its OpenAPI document.',
      make: consoleApiPage,
    },
  ],
  internal: [{ name: 'grpc', menu: 'gRPC', description: 'How internal services call Tollgate over gRPC with a certificate of their own.' }],
  operators: [
    { name: 'payments', description: 'How users add funds with Stripe Checkout, what is credited when, and refunds.' },
    { name: 'configuration', description: 'Every setting with its default.' },
    { name: 'operations', description: 'How to size, deploy and scale several processes, and what the database needs.' },
    { name: 'own-server', description: 'How to serve models from your own server: llama.cpp, vLLM, Ollama, SGLang.' },
    { name: 'model-files', description: 'Every field of a model, and every capability, modality and tokenizer.' },
    { name: 'routing', description: 'How calls are routed between upstreams, what happens when one fails, and its limits.' },
    {
      name: 'tracing',
      description: 'Traces of calls and logs over OpenTelemetry: what they contain, sampling, and their settings.',
    },
    { name: 'backup', description: 'How to back up and restore everything, and how to rotate the secret key.' },
    { name: 'rollouts', description: 'How to restart, upgrade and renew certificates without a failed call.' },
    { name: 'reconciling', description: 'How to check that the books agree, and what to do when they do not.' },
    { name: 'metrics', description: 'Every metric with its labels.' },
    { name: 'slos', description: 'Service level objectives and how alerts watch them.' },
    { name: 'storage', description: 'How the databases grow, and what to do about it.' },
    { name: 'capacity', description: 'How much a machine serves, when to use several, and what is saturated first.' },
  ],
};

/** Returns all pages; called once, at startup. A page throws when it is read if its file is missing, because the installation is then incomplete. */
export function readDocPages(): DocPage[] {
  const listed = (Object.keys(audiences) as Audience[]).flatMap((audience) =>
    sources[audience].map(({ name, menu, title, description, make = () => read(`${name}.md`) }): DocPage => {
      const markdown = once(() => withPlaceholders(make()));
      return { name, menu, audience, title, description, markdown, isListed: true };
    }),
  );
  return [...listed, ...clientPages(), ...errorPages(), ...runbooks()];
}

/** Returns a page for each client, which the page `clients` lists. */
function clientPages(): DocPage[] {
  return readdirSync(new URL('clients/', docsFolder)).map((file): DocPage => {
    const markdown = read(`clients/${file}`);
    return {
      name: `clients/${file.replace(/\.md$/, '')}`,
      audience: 'callers',
      description: `How to set up ${/^# (.+)/.exec(markdown)?.[1] ?? file}, with samples, retries, errors and time limits.`,
      markdown: once(() => withPlaceholders(markdown)),
      isListed: false,
    };
  });
}

/** Returns a page for each alert, and the list of them. */
function runbooks(): DocPage[] {
  return readdirSync(new URL('runbooks/', docsFolder)).map((file): DocPage => {
    const markdown = read(`runbooks/${file}`);
    const isIndex = file === 'README.md';
    return {
      name: isIndex ? 'runbooks/index' : `runbooks/${file.replace(/\.md$/, '')}`,
      audience: 'operators',
      description: isIndex ? 'What to do about each alert.' : `Runbook: ${/^# (.+)/.exec(markdown)?.[1] ?? file}`,
      markdown: () => markdown,
      isListed: isIndex,
    };
  });
}

function read(path: string): string {
  return readFileSync(new URL(path, docsFolder), 'utf8');
}

/** The folder of the pages that are files. */
export const docsFolder = new URL('docs/', root);
