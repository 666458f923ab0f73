// The OpenAPI document, built from the schemas that validate requests and that answers are tested against.
import type { TSchema } from 'typebox';
import { ErrorBody, Health, KeyView, RefusalView, TokenCount, UsageRecordAlone } from './account-schema.js';
import { ChatCompletion, ChatCompletionChunk } from './chat-completions/answer-schema.js';
import { ChatCompletionRequest } from './chat-completions/schema.js';
import { EmbeddingList, EmbeddingsRequest } from './embeddings/schema.js';
import { MessageAnswer, MessageStreamEvent } from './messages/answer-schema.js';
import { CountTokensRequest, MessagesRequest } from './messages/schema.js';
import { DeletedResponse, InputItemList, InputTokens, ResponseAnswer, ResponseStreamEvent } from './responses/answer-schema.js';
import { ResponseRequest } from './responses/schema.js';
import { Catalog, ModelList, ModelView } from './models-schema.js';

const schemas = [
  ChatCompletionRequest,
  ChatCompletion,
  ChatCompletionChunk,
  MessagesRequest,
  MessageAnswer,
  MessageStreamEvent,
  EmbeddingsRequest,
  EmbeddingList,
  ResponseRequest,
  ResponseAnswer,
  ResponseStreamEvent,
  InputItemList,
  DeletedResponse,
  CountTokensRequest,
  TokenCount,
  InputTokens,
  ModelView,
  ModelList,
  Catalog,
  KeyView,
  UsageRecordAlone,
  RefusalView,
  ErrorBody,
  Health,
];

const titleOf = (schema: TSchema): string => (schema as { title: string }).title;
const ref = (schema: TSchema): object => ({ $ref: `#/components/schemas/${titleOf(schema)}` });
const json = (schema: TSchema): object => ({ 'application/json': { schema: ref(schema) } });

const requestIdHeaders = {
  'x-request-id': { $ref: '#/components/headers/RequestId' },
  'request-id': { $ref: '#/components/headers/RequestId' },
};
const ok = (description: string, schema: TSchema, headers: object = {}): object => ({
  description,
  headers: { ...requestIdHeaders, ...headers },
  content: json(schema),
});
const refusal = (name: string): object => ({ $ref: `#/components/responses/${name}` });

/** Errors by status, on the routes where they are possible. */
const keyed = { 401: refusal('Unauthenticated'), 403: refusal('Forbidden'), '5XX': refusal('Failed') };
const generating = {
  400: refusal('Invalid'),
  ...keyed,
  402: refusal('Unpaid'),
  404: refusal('NotFound'),
  408: refusal('TooSlow'),
  409: refusal('InProgress'),
  410: refusal('AnswerGone'),
  413: refusal('TooLarge'),
  422: refusal('OtherRequest'),
  429: refusal('RateLimited'),
};

/** Returns the description and the schema of a header or a parameter. */
const described = (description: string, type = 'string'): object => ({ description, schema: { type } });

const pathParameter = (name: string, description: string): object => ({ name, in: 'path', required: true, ...described(description) });
const queryParameter = (name: string, description: string): object => ({ name, in: 'query', ...described(description) });
const versionHeaders = ['provider-version', 'anthropic-version'].map((name) => ({
  name,
  in: 'header',
  description: 'The version of the format, as a date; 2023-06-01 when absent.',
  schema: { type: 'string', format: 'date' },
}));
const messagesHeaders = [
  ...versionHeaders,
  {
    name: 'anthropic-beta',
    in: 'header',
    ...described(
      'Comma-separated flags for upstreams of this format. They have no effect on others. Flags that change the price are dropped.',
    ),
  },
];

const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'A retry with the same key and body returns the recorded answer and is not charged again. Use a new random UUID for each call.',
  schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' },
};

const generatedHeaders = {
  ...requestIdHeaders,
  'idempotency-replayed': described('"true" when the answer is that of an earlier request with the same Idempotency-Key.'),
  'x-tollgate-original-request-id': described('The id of the earlier request and of its usage record.'),
  'x-tollgate-output-cap': described('The maximum number of output tokens of the answer, if it differs from the request.', 'integer'),
  'x-tollgate-model': described('The model that was used, if it is not the requested one.'),
  'x-tollgate-requested-model': described('The requested model, if another one was used.'),
  'x-tollgate-fallback-reason': described(
    "Why a different model was used: the project's budget that caused the switch, and how much of it is spent.",
  ),
  'x-tollgate-charge-usd': described(
    'The cost of the call in decimal USD, for answers that are not streamed. For streams, see GET /v1/usage/{request_id}.',
  ),
  'server-timing': described(
    'Milliseconds by phase, such as "auth;dur=0.05, hold;dur=1.20, upstream;dur=310.44, record;dur=1.31". `upstream` lasts until the first event of a stream, or until the end of a whole answer; the rest was added by the gateway. Streams have no `record`.',
  ),
  'x-tollgate-dropped-params': described('Fields of the request that had no effect.'),
};

const estimatedHeader = {
  'x-tollgate-estimated': described('"true" if the count is an estimate by Tollgate because the upstream cannot count tokens.'),
};

function generation(
  summary: string,
  request: TSchema,
  answer: TSchema,
  frame: TSchema,
  stream: string,
  parameters: readonly object[] = [],
): object {
  return {
    summary,
    parameters: [...parameters, idempotencyKey],
    requestBody: { required: true, content: json(request) },
    responses: {
      200: {
        description: `The answer; with "stream": true as server-sent events. ${stream} An error after the first frame is a frame of its own.`,
        headers: generatedHeaders,
        content: {
          ...json(answer),
          'text/event-stream': { schema: { type: 'string', description: stream }, 'x-tollgate-frame': ref(frame) },
        },
      },
      ...generating,
    },
  };
}

const counted = (answer: TSchema): object => ({
  200: ok('The count.', answer, estimatedHeader),
  400: refusal('Invalid'),
  ...keyed,
  404: refusal('NotFound'),
  408: refusal('TooSlow'),
  413: refusal('TooLarge'),
  429: refusal('RateLimited'),
});

/** Marks routes that need no key. */
const open = { description: 'Needs no key.', security: [] };

const responseIdParameter = pathParameter('id', 'The id of a response that this key received: resp_….');

const paths = {
  '/v1/chat/completions': {
    post: generation(
      'Generate an answer in the chat-completions format.',
      ChatCompletionRequest,
      ChatCompletion,
      ChatCompletionChunk,
      'Each frame is "data: " and a ChatCompletionChunk; the last is "data: [DONE]". Lines that begin with a colon are keep-alives.',
    ),
  },
  '/v1/messages': {
    post: generation(
      'Generate an answer in the messages format.',
      MessagesRequest,
      MessageAnswer,
      MessageStreamEvent,
      'Each frame is an "event: " line with the type and a "data: " line with a MessageStreamEvent; the last is message_stop.',
      messagesHeaders,
    ),
  },
  '/v1/embeddings': {
    post: {
      summary: 'Embed texts: return a vector for each text.',
      parameters: [idempotencyKey],
      requestBody: { required: true, content: json(EmbeddingsRequest) },
      responses: { 200: { description: 'The vectors.', headers: generatedHeaders, content: json(EmbeddingList) }, ...generating },
    },
  },
  '/v1/responses': {
    post: generation(
      'Generate an answer in the responses format.',
      ResponseRequest,
      ResponseAnswer,
      ResponseStreamEvent,
      'Each frame is an "event: " line with the type and a "data: " line with a ResponseStreamEvent; the last is response.completed, response.incomplete or response.failed. Lines that begin with a colon are keep-alives.',
    ),
  },
  '/v1/responses/{id}': {
    get: {
      summary: 'Show a stored response.',
      parameters: [responseIdParameter],
      responses: { 200: ok('The response.', ResponseAnswer), 400: refusal('Invalid'), ...keyed, 404: refusal('NotFound') },
    },
    delete: {
      summary: 'Delete a stored response and its items.',
      parameters: [responseIdParameter],
      responses: { 200: ok('The response is deleted.', DeletedResponse), ...keyed, 404: refusal('NotFound') },
    },
  },
  '/v1/responses/{id}/input_items': {
    get: {
      summary: 'List the items that a stored response was generated from.',
      parameters: [
        responseIdParameter,
        queryParameter('limit', '1 to 100, by default 20.'),
        queryParameter('order', 'asc or desc, the default.'),
        queryParameter('after', 'Continue after this id.'),
      ],
      responses: { 200: ok('The items.', InputItemList), 400: refusal('Invalid'), ...keyed, 404: refusal('NotFound') },
    },
  },
  '/v1/messages/count_tokens': {
    post: {
      summary: 'Count the input tokens of a messages request, free of charge.',
      parameters: messagesHeaders,
      requestBody: { required: true, content: json(CountTokensRequest) },
      responses: counted(TokenCount),
    },
  },
  '/v1/responses/input_tokens': {
    post: {
      summary: 'Count the input tokens of a responses request, free of charge.',
      requestBody: { required: true, content: json(ResponseRequest) },
      responses: counted(InputTokens),
    },
  },
  '/v1/models': {
    get: {
      summary: 'List the models that the key may call.',
      parameters: [
        queryParameter('limit', '1 to 1000. Without any of these parameters, the whole list is returned.'),
        queryParameter('after_id', 'Continue after this id.'),
        queryParameter('before_id', 'Return the page before this id.'),
      ],
      responses: { 200: ok('The models.', ModelList), 400: refusal('Invalid'), ...keyed },
    },
  },
  '/v1/models/{id}': {
    get: {
      summary: 'Show one model.',
      parameters: [pathParameter('id', 'A model id or alias; slashes may be raw or encoded.')],
      responses: { 200: ok('The model.', ModelView), 400: refusal('Invalid'), ...keyed, 404: refusal('NotFound') },
    },
  },
  '/v1/key': {
    get: {
      summary: 'Show the limit of the key and the balance of its account.',
      responses: { 200: ok("The key, its limit and its account's balance.", KeyView), ...keyed },
    },
  },
  '/v1/usage/{request_id}': {
    get: {
      summary: 'Show what one call of the key or its project cost, or why it was refused.',
      parameters: [pathParameter('request_id', 'The x-request-id of the call.')],
      responses: {
        200: {
          ...ok('The usage record or, about a second after a call was refused, the refusal.', UsageRecordAlone),
          content: { 'application/json': { schema: { anyOf: [ref(UsageRecordAlone), ref(RefusalView)] } } },
        },
        400: refusal('Invalid'),
        ...keyed,
        404: refusal('NotFound'),
      },
    },
  },
  '/v1/catalog': {
    get: {
      summary: 'List every model with its limits and prices.',
      ...open,
      responses: { 200: ok('The catalog.', Catalog), '5XX': refusal('Failed') },
    },
  },
  '/livez': { get: { summary: 'Whether the process is up.', ...open, responses: { 200: ok('The process is up.', Health) } } },
  '/readyz': {
    get: {
      summary: 'Whether calls can be served.',
      ...open,
      responses: {
        200: ok('Calls can be served.', Health),
        503: { description: 'Calls cannot be served now; the body names the missing parts.' },
      },
    },
  },
  '/openapi.json': { get: { summary: 'This document.', ...open, responses: { 200: { description: 'OpenAPI 3.1.' } } } },
};

const refused = (description: string, headers: object = {}): object => ({
  description,
  headers: { ...requestIdHeaders, ...headers },
  content: json(ErrorBody),
});
const retryAfter = {
  'retry-after': described('Seconds to wait, 1 to 60, before a retry may succeed.', 'integer'),
  'x-should-retry': {
    description: 'false: a retry cannot help. true: a retry can help, although libraries do not retry this status by themselves.',
    schema: { type: 'string', enum: ['true', 'false'] },
  },
};

/** The document of GET /openapi.json. */
export const openapi = {
  openapi: '3.1.0',
  info: {
    title: 'Tollgate',
    version: '1',
    description:
      'A metered gateway to text-generation models. Every route accepts a key in either of two headers, `authorization` and `x-api-key`.',
    license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
  },
  security: [{ bearer: [] }, { apiKey: [] }],
  paths,
  components: {
    securitySchemes: {
      bearer: { type: 'http', scheme: 'bearer', description: 'A platform key.' },
      apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key', description: 'A platform key.' },
    },
    headers: { RequestId: described('The id of the request and of its usage record.') },
    responses: {
      Invalid: refused('A field is missing, malformed or not supported; error.param names it.'),
      Unauthenticated: refused('The platform key is missing, unknown, revoked or expired.'),
      Unpaid: refused(
        'The balance is empty or held by calls in flight, or the limit of the key or a budget is reached; error.reason says which.',
        retryAfter,
      ),
      Forbidden: refused('The key may not do this.'),
      NotFound: refused('The resource does not exist.'),
      InProgress: refused('The call with this Idempotency-Key is in progress; a retry returns its answer.', retryAfter),
      AnswerGone: refused('The call with this Idempotency-Key was charged, but its answer was not stored.'),
      OtherRequest: refused('The Idempotency-Key was used with another body.'),
      TooLarge: refused('The body is too large.'),
      TooSlow: refused('The body arrived too slowly.'),
      RateLimited: refused('A rate limit of Tollgate or of the upstream is reached; error.reason says which.', retryAfter),
      Failed: refused('The service or the upstream failed or is overloaded.', retryAfter),
    },
    schemas: Object.fromEntries(schemas.map((schema) => [titleOf(schema), schema])),
  },
};
