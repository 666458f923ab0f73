// Calls that test whether a model has the capabilities that the catalog lists, through the same code as all calls.
import { ApiFormat, CapabilityProbe, GenerateRequest, Role } from '#proto/inference/v1/inference.js';
import { probeInputTokens, probeOutputTokens } from '#rules/upstreams/capability-probes.js';
import { finding } from '#rules/errors/finding-sentences.js';
import { hasReason } from '#client/errors/app-error.js';
import { isObject, parsedJson } from '../answers/stream-decoder.js';
import type { Upstream } from '../upstream.js';
import { faultWords } from './operator-text.js';
import { type Found, StepFault, type StepName } from './step-log.js';

/** A red square of 32 by 32 pixels. */
const redPng =
  'iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAIAAAD8GO2jAAAAJ0lEQVR42u3NsQkAAAjAsP7/tF7hIASyp6lTCQQCgUAgEAgEgi/BAjLD/C5w/SM9AAAAAElFTkSuQmCC';

/** The answer of a model. */
interface Answer {
  readonly text: string;
  readonly calls: readonly { readonly name: string; readonly argumentsJson: string }[];
  readonly usageFault: string;
  readonly isReported: boolean;
}

interface Probe {
  readonly step: StepName;
  readonly fields: Parameters<typeof GenerateRequest.fromPartial>[0];
  /** Formats of upstreams to which it applies; absent: all. */
  readonly format?: ApiFormat;
  /** Returns what was found. Raises StepFault if the model cannot do it. */
  judge(answer: Answer): string;
  /** Returns the finding for a rejected request; absent if a rejection is a fault. */
  rejected?(detail: string): string;
}

const promptOf = (text: string) => ({
  messages: [{ role: Role.ROLE_USER, parts: [{ part: { $case: 'text' as const, value: { text } } }] }],
});
const shortened = (text: string): string => JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);

const cityParameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false };
const weatherSchema = {
  type: 'object',
  properties: { city: { type: 'string' }, degrees: { type: 'integer' } },
  required: ['city', 'degrees'],
  additionalProperties: false,
};
const answersFields = { messages: [{ role: 'user', content: 'Say a word.' }], n: 2 };

const probes: Partial<Record<CapabilityProbe, Probe>> = {
  [CapabilityProbe.CAPABILITY_PROBE_TOOLS]: {
    step: 'tools',
    fields: {
      prompt: {
        ...promptOf('What is the weather in Paris? Call the tool get_weather.'),
        tools: [{ name: 'get_weather', description: 'Returns the weather in a city.', parametersJson: JSON.stringify(cityParameters) }],
      },
    },
    judge({ calls: [call], text }) {
      if (call === undefined) throw new StepFault(finding('tool_ignored', { detail: shortened(text) }));
      const read = parsedJson(call.argumentsJson);
      if (call.name !== 'get_weather' || !isObject(read) || typeof read['city'] !== 'string')
        throw new StepFault(finding('tool_misfit', { tool: shortened(call.name), detail: shortened(call.argumentsJson) }));
      return finding('tool_called', { tool: call.name, detail: shortened(call.argumentsJson) });
    },
  },
  [CapabilityProbe.CAPABILITY_PROBE_STRUCTURED_OUTPUT]: {
    step: 'structured_output',
    fields: {
      prompt: promptOf('It is 21 degrees in Paris. Return the city and the degrees.'),
      responseFormat: {
        format: {
          $case: 'jsonSchema',
          value: { name: 'weather', description: '', schemaJson: JSON.stringify(weatherSchema), strict: true },
        },
      },
    },
    judge({ text }) {
      const read = parsedJson(text);
      const fits =
        isObject(read) && typeof read['city'] === 'string' && Number.isInteger(read['degrees']) && Object.keys(read).length === 2;
      if (!fits) throw new StepFault(finding('schema_ignored', { detail: shortened(text) }));
      return finding('schema_followed', { detail: shortened(text) });
    },
  },
  [CapabilityProbe.CAPABILITY_PROBE_IMAGES]: {
    step: 'images',
    fields: {
      prompt: {
        messages: [
          {
            role: Role.ROLE_USER,
            parts: [
              { part: { $case: 'image', value: { source: { $case: 'data', value: { mediaType: 'image/png', base64: redPng } } } } },
              { part: { $case: 'text', value: { text: 'Which color is this image? Answer with one word.' } } },
            ],
          },
        ],
      },
      // No money is held for these calls. No image of this size has more tokens than this.
      inputTokensMax: probeInputTokens(CapabilityProbe.CAPABILITY_PROBE_IMAGES),
    },
    judge({ text }) {
      if (!/\bred\b/i.test(text)) throw new StepFault(finding('image_unseen', { detail: shortened(text) }));
      return finding('image_seen', {});
    },
  },
  [CapabilityProbe.CAPABILITY_PROBE_ANSWERS]: {
    step: 'answers',
    format: ApiFormat.API_FORMAT_CHAT_COMPLETIONS,
    fields: {
      prompt: promptOf('Say a word.'),
      choices: 2,
      native: { format: ApiFormat.API_FORMAT_CHAT_COMPLETIONS, fieldsJson: JSON.stringify(answersFields) },
    },
    judge({ isReported, usageFault }) {
      if (isReported) return finding('two_answers', {});
      return usageFault === '' ? finding('two_answers_usage_missing', {}) : finding('two_answers_usage_implausible', { rule: usageFault });
    },
    // Many servers return one answer per call, and clients that want more get this error.
    rejected: (detail) => finding('two_answers_rejected', { detail }),
  },
};

/** Returns the steps of these probes at an upstream of this format, in order; those that do not apply are left out. */
export function probeSteps(wanted: readonly CapabilityProbe[], format: ApiFormat): { step: StepName; run: ProbeRun }[] {
  return [...new Set(wanted)]
    .toSorted((one, other) => one - other)
    .flatMap((each) => {
      const probe = probes[each];
      if (probe === undefined || (probe.format !== undefined && probe.format !== format)) return [];
      return [{ step: probe.step, run: (upstream, upstreamModel, signal) => runProbe(probe, upstream, upstreamModel, signal) }];
    });
}

/** Makes the call of a probe. Raises what real calls raise, and StepFault if the model cannot do it. */
export type ProbeRun = (upstream: Upstream, upstreamModel: string, signal: AbortSignal) => Promise<Found<void>>;

async function runProbe(probe: Probe, upstream: Upstream, upstreamModel: string, signal: AbortSignal): Promise<Found<void>> {
  try {
    return await answerTo(probe, upstream, upstreamModel, signal);
  } catch (error) {
    if (probe.rejected === undefined || !hasReason(error, 'upstream_rejected')) throw error;
    return { what: probe.rejected(faultWords(error)), isSkipped: true, value: undefined };
  }
}

async function answerTo({ fields, judge }: Probe, upstream: Upstream, upstreamModel: string, signal: AbortSignal): Promise<Found<void>> {
  const target = { upstreamId: upstream.id, upstreamModel };
  const request = GenerateRequest.fromPartial({
    callId: 'upstream_test',
    targets: [target],
    maxOutputTokens: probeOutputTokens,
    streaming: true,
    ...fields,
  });
  let text = '';
  const calls: { name: string; argumentsJson: string }[] = [];
  for await (const { events } of upstream.generate(request, { target, credential: upstream.credentials[0], signal, traceHeaders: {} })) {
    for (const { event } of events) {
      if (event?.$case === 'blockStart' && event.value.block?.$case === 'toolCall')
        calls.push({ name: event.value.block.value.name, argumentsJson: '' });
      else if (event?.$case === 'blockDelta' && event.value.delta?.$case === 'text') text += event.value.delta.value;
      else if (event?.$case === 'blockDelta' && event.value.delta?.$case === 'argumentsJson' && calls.length > 0)
        calls.at(-1)!.argumentsJson += event.value.delta.value;
      else if (event?.$case === 'finished')
        return {
          what: judge({ text, calls, usageFault: event.value.usageFault, isReported: event.value.usageReported }),
          value: undefined,
        };
    }
  }
  throw new StepFault(finding('unfinished', {}));
}
