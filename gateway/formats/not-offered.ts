// The paths of the public APIs of OpenAI and Anthropic that are not offered here, and what to use in place of each. Pure.

/** The paths of one API. */
export interface NotOffered {
  /** What they are for, as the subject of "… not offered". */
  readonly what: string;
  readonly isPlural: boolean;
  /** Their first segments after `/v1/`. Everything below them belongs to them too. */
  readonly paths: readonly string[];
  /** The nearest thing that is offered: a route, or a page of the docs. */
  readonly nearest: string;
  /** What to do, as a whole sentence that names `nearest`. */
  readonly instead: string;
}

const many = (what: string, paths: readonly string[], nearest: string, instead: string): NotOffered => ({
  what,
  isPlural: true,
  paths,
  nearest,
  instead,
});
const one = (what: string, paths: readonly string[], nearest: string, instead: string): NotOffered => ({
  ...many(what, paths, nearest, instead),
  isPlural: false,
});

const chat = 'POST /v1/chat/completions';
const messages = 'POST /v1/messages';
const responses = 'POST /v1/responses';

/** All of them, in the order of the docs. */
export const notOffered: readonly NotOffered[] = [
  many('Text completions', ['completions', 'engines'], chat, `Use ${chat} with the prompt as a user message.`),
  many('Text completions', ['complete'], messages, `Use ${messages} with the prompt as a user message.`),
  many('Edits', ['edits'], chat, `Use ${chat} with the text and the instruction as messages.`),
  many('Stored completions', ['chat/completions'], 'GET /v1/usage/{request id}', 'Use GET /v1/usage/{request id} for what one call cost.'),
  many(
    'Background responses (and stored ones, if the operator has switched them off)',
    ['responses'],
    responses,
    `Send the whole conversation as input to ${responses}.`,
  ),
  one(
    'Compaction',
    ['responses/compact'],
    responses,
    `Send a shorter conversation to ${responses}, with a summary by the model if you need one.`,
  ),
  many('Batches', ['batches'], chat, `Send each request separately to ${chat}.`),
  many('Batches', ['messages/batches'], messages, `Send each request separately to ${messages}.`),
  many(
    'Files and uploads',
    ['files', 'uploads'],
    chat,
    `Send the content of a file within the request: ${chat} and ${messages} accept images, PDFs and text.`,
  ),
  many('Images as output', ['images'], chat, `Use ${chat}, which accepts images as input and returns text.`),
  one('Audio', ['audio'], chat, `Use ${chat}, which passes audio input on to upstreams of its format and returns text.`),
  many('Videos', ['videos'], chat, `Use ${chat}, which returns text.`),
  one('Realtime speech', ['realtime', 'live'], chat, `Use ${chat} with "stream": true.`),
  one('Moderation', ['moderations', 'content_provenance_checks'], chat, `Use ${chat} with a model that classifies text.`),
  one(
    'Fine-tuning',
    ['fine_tuning', 'fine-tunes'],
    'GET /v1/models',
    'Ask the operator to add your fine-tuned model; GET /v1/models lists the models of your key.',
  ),
  many('Evaluations', ['evals', 'decisions'], chat, `Call the model with ${chat} and grade its answers yourself.`),
  many(
    'Conversations on the server',
    ['assistants', 'threads', 'conversations'],
    responses,
    `Continue a stored response with previous_response_id in ${responses}, if this gateway stores responses, or send the whole conversation with each request.`,
  ),
  many(
    'Agents on the server',
    [
      'agents',
      'sessions',
      'environments',
      'deployments',
      'deployment_runs',
      'dreams',
      'memory_stores',
      'tunnels',
      'user_profiles',
      'vaults',
    ],
    messages,
    `Run the agent in your own program, with tools in ${messages} or ${chat}.`,
  ),
  one('Chat for web pages', ['chatkit'], chat, `Use ${chat}.`),
  many('Vector stores', ['vector_stores'], chat, `Run your own vector store, and send what it finds to ${chat}.`),
  many('Containers and skills', ['containers', 'skills'], chat, `Run code in your own program, as a tool in ${chat} or ${messages}.`),
  many(
    "The administration APIs of the vendors' organizations",
    ['organization', 'organizations', 'projects', 'compliance', 'webhook_endpoints', 'webhook_event_types'],
    '/docs/console-api',
    'Use the API of the console, which /docs/console-api describes.',
  ),
  one(
    'The balance, at the path that old clients use',
    ['dashboard/billing'],
    'GET /v1/key',
    'Use GET /v1/key for what the key can still spend.',
  ),
];

const byPath = new Map(notOffered.flatMap((entry) => entry.paths.map((path) => [path, entry] as const)));

/** Returns the API of a path that is known and not offered; undefined for all other paths. */
export function notOfferedAt(path: string): NotOffered | undefined {
  const [first = '', second = ''] = path.replace(/^(?:\/v1)*\//, '').split('/', 2);
  return byPath.get(`${first}/${second}`) ?? byPath.get(first);
}

/** Returns the sentence of the error. */
export function notOfferedMessage({ what, isPlural, instead }: NotOffered): string {
  return `${what} ${isPlural ? 'are' : 'is'} not offered here. ${instead} /docs/not-offered lists everything that is not offered.`;
}
