// The output of upstreams, never with their secrets.
import {
  ApiFormat,
  type Credential,
  TestResult,
  type Upstream,
  type UpstreamLimits,
  type UpstreamTest,
  type UpstreamTestStep,
} from '#proto/inference/v1/inference.js';
import { limitFields } from '#rules/upstreams/upstream-limits.js';
import { instant, instantJson, type JsonObject, type View } from '../output.js';
import { unknownWord, wordsOf } from '../options/parse.js';

/** The API formats, in words. */
const wireFormats = wordsOf<ApiFormat>(ApiFormat, 'API_FORMAT_');

/** An upstream. */
export const upstreamView: View<Upstream> = {
  json: (upstream) => ({
    id: upstream.id,
    api_format: wireFormats.of(upstream.apiFormat),
    base_url: upstream.baseUrl,
    has_secret: upstream.hasSecret,
    secret_last_four: upstream.secretLastFour === '' ? null : upstream.secretLastFour,
    allow_private_network: upstream.allowPrivateNetwork,
    credentials: upstream.credentials.map(credentialJson),
    enabled: upstream.enabled,
    whole_answers: upstream.wholeAnswers,
    limits: limitFields(upstream.limits, null),
    allowed_fields: upstream.allowedFields,
    managed: upstream.managed,
    managed_by: upstream.managedBy ?? null,
    created_at: instantJson(upstream.createdAtMs),
    last_test: upstream.lastTest === undefined ? null : testJson(upstream.lastTest),
  }),
  columns: [
    { title: 'upstream', text: (upstream) => upstream.id },
    { title: 'format', text: (upstream) => wireFormats.of(upstream.apiFormat) },
    { title: 'address', text: (upstream) => upstream.baseUrl || 'built in' },
    {
      title: 'secret',
      text: ({ hasSecret, secretLastFour, credentials: { length } }) =>
        !hasSecret ? 'none' : length > 1 ? `${length} credentials` : secretText(secretLastFour),
    },
    { title: 'state', text: (upstream) => (upstream.enabled ? 'enabled' : 'disabled') },
    { title: 'short answers', text: (upstream) => (upstream.wholeAnswers ? 'whole' : 'streamed') },
    { title: 'own limits', text: (upstream) => limitsText(upstream.limits) },
    { title: 'set by', text: (upstream) => (upstream.managed ? (upstream.managedBy ?? 'built in') : 'operator') },
    { title: 'last test', text: ({ lastTest }) => (lastTest === undefined ? 'never' : testWords(lastTest)) },
  ],
};

/** The formats that an upstream can be added with; the others are built in or only for clients. */
const addedFormats: Readonly<Record<string, ApiFormat>> = {
  'chat-completions': ApiFormat.API_FORMAT_CHAT_COMPLETIONS,
  messages: ApiFormat.API_FORMAT_MESSAGES,
  responses: ApiFormat.API_FORMAT_RESPONSES,
};

/** The names of these formats, as the docs spell them. */
export const addedFormatNames = Object.keys(addedFormats);

/** Returns the format with this name, which may have underscores in place of hyphens, as in JSON output. */
export function parseAddedFormat(text: string): ApiFormat {
  const format = addedFormats[text.toLowerCase().replaceAll('_', '-')];
  if (format === undefined) throw unknownWord(text, addedFormatNames);
  return format;
}

const secretText = (lastFour: string): string => (lastFour === '' ? 'set' : `…${lastFour}`);

const credentialJson = ({ id, lastFour, setAtMs }: Credential): JsonObject => ({
  id,
  secret_last_four: lastFour === '' ? null : lastFour,
  set_at: setAtMs === 0n ? null : instantJson(setAtMs),
});

/** One credential of an upstream. */
export const credentialView: View<Credential> = {
  json: credentialJson,
  columns: [
    { title: 'credential', text: ({ id }) => id },
    { title: 'secret', text: ({ lastFour }) => secretText(lastFour) },
    { title: 'set', text: ({ setAtMs }) => (setAtMs === 0n ? 'by configuration' : instant(setAtMs)) },
  ],
};

/** Returns the limits that the upstream has of its own, for example "first token 5m, calls 8"; empty if it has none. */
function limitsText(limits: UpstreamLimits | undefined): string {
  const { connectTimeoutMs, firstTokenTimeoutMs, slowFirstTokenMs, idleTimeoutMs, totalTimeoutMs } = limits ?? {};
  const { callsMax, requestsPerMinute, tokensPerMinute, probeIntervalMs } = limits ?? {};
  const count = (name: string, value: number | undefined): string[] => (value === undefined ? [] : [`${name} ${value}`]);
  const time = (name: string, ms: number | undefined): string[] =>
    ms === undefined ? [] : [`${name} ${ms % 1000 === 0 ? `${ms / 1000}s` : `${ms}ms`}`];
  return [
    ...time('connect', connectTimeoutMs),
    ...time('first token', firstTokenTimeoutMs),
    ...time('slow', slowFirstTokenMs),
    ...time('idle', idleTimeoutMs),
    ...time('total', totalTimeoutMs),
    ...count('calls', callsMax),
    ...count('requests/min', requestsPerMinute),
    ...count('tokens/min', tokensPerMinute),
    ...time('probe', probeIntervalMs),
  ].join(', ');
}

const outcomes = wordsOf<TestResult>(TestResult, 'TEST_RESULT_');

/** One step of a test. */
export const testStepView: View<UpstreamTestStep> = {
  json: stepJson,
  columns: [
    { title: 'step', text: (step) => step.name },
    { title: 'result', text: (step) => outcomes.of(step.result).replace('_', ' ') },
    { title: 'ms', text: (step) => (step.result === TestResult.TEST_RESULT_NOT_RUN ? '' : String(step.durationMs)), align: 'right' },
    { title: 'finding', text: (step) => step.detail },
  ],
};

/** Returns a test as JSON. */
export function testJson({ startedAtMs: atMs, ok, failedStep, steps, upstreamModel }: UpstreamTest): JsonObject {
  return {
    at: instantJson(atMs),
    ok,
    failed_step: failedStep === '' ? null : failedStep,
    upstream_model: upstreamModel === '' ? null : upstreamModel,
    steps: steps.map(stepJson),
  };
}

function stepJson({ name, result: outcome, durationMs, detail: what }: UpstreamTestStep): JsonObject {
  // A step that was skipped or not run has neither passed nor failed.
  const ok = outcome === TestResult.TEST_RESULT_OK ? true : outcome === TestResult.TEST_RESULT_FAILED ? false : null;
  return { name, ok, outcome: outcomes.of(outcome), duration_ms: durationMs, what };
}

function testWords({ startedAtMs: atMs, ok, failedStep }: UpstreamTest): string {
  return `${ok ? 'ok' : `failed: ${failedStep}`}, ${instant(atMs)}`;
}
