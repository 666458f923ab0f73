// Validates a request before anything is sent to an upstream. Pure.
import { AppError } from '#client/errors/app-error.js';
import {
  type GenerateRequest,
  type Message,
  type Part,
  type Prompt,
  type Reasoning,
  Role,
  type Sampling,
  type Target,
  ToolChoice_Mode,
  type ToolResultPart,
} from '#proto/inference/v1/inference.js';

/** Upper limits on the parts of one request. */
const requestLimits = {
  targets: 16,
  messages: 100_000,
  tools: 1024,
  stopSequences: 64,
  /** Characters of an id, a name or a stop sequence. */
  nameChars: 1024,
  outputTokens: 100_000_000,
} as const;

const efforts = ['', 'none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];
const verbosities = ['low', 'medium', 'high'];

/** Raises invalid_request, with the field in details, for a request that breaks a rule. */
export function checkGenerateRequest(request: GenerateRequest): void {
  const { callId, targets, prompt, maxOutputTokens, stopSequences, sampling, reasoning, endUser, messagesVersion, native, embedding } =
    request;
  const { verbosity, promptCacheKey } = request;
  check(callId !== '' && isName(callId), 'call_id', `must be the id of the call, of at most ${requestLimits.nameChars} characters`);
  checkTargets(targets);
  checkPrompt(prompt, native ?? embedding);
  check(maxOutputTokens <= requestLimits.outputTokens, 'max_output_tokens', `must be at most ${requestLimits.outputTokens}`);
  check(stopSequences.length <= requestLimits.stopSequences, 'stop_sequences', `must have at most ${requestLimits.stopSequences} entries`);
  check(
    stopSequences.every((sequence) => sequence !== '' && isName(sequence)),
    'stop_sequences',
    `must contain texts of 1 to ${requestLimits.nameChars} characters`,
  );
  checkSampling(sampling);
  checkReasoning(reasoning);
  check(isName(endUser), 'end_user', `must have at most ${requestLimits.nameChars} characters`);
  check(verbosity === undefined || verbosities.includes(verbosity), 'verbosity', `must be one of ${verbosities.join(', ')}`);
  check(isName(promptCacheKey ?? ''), 'prompt_cache_key', `must have at most ${requestLimits.nameChars} characters`);
  checkMessagesVersion(messagesVersion);
}

/** Checks the targets of a request, which must have at least one. */
export function checkTargets(targets: readonly Target[]): void {
  check(targets.length > 0 && targets.length <= requestLimits.targets, 'targets', `must have 1 to ${requestLimits.targets} entries`);
  for (const { upstreamId, upstreamModel } of targets) {
    check(upstreamId !== '' && isName(upstreamId), 'targets.upstream_id', 'must name an upstream');
    check(upstreamModel !== '' && isName(upstreamModel), 'targets.upstream_model', 'must name a model');
  }
}

/**
 * Checks that the prompt of a request has at least one message, and in each message only parts that its role allows. If the request has other
 * content (`others`), the prompt may have no messages.
 */
export function checkPrompt(prompt: Prompt | undefined, others?: object): asserts prompt is Prompt {
  check(prompt !== undefined, 'prompt', 'is required');
  const { messages, tools, toolChoice } = prompt;
  check(
    (messages.length > 0 || others !== undefined) && messages.length <= requestLimits.messages,
    'prompt.messages',
    `must have 1 to ${requestLimits.messages} entries`,
  );
  for (const message of messages) checkMessage(message);
  check(tools.length <= requestLimits.tools, 'prompt.tools', `must have at most ${requestLimits.tools} entries`);
  check(
    tools.every(({ name }) => name !== '' && isName(name)),
    'prompt.tools.name',
    'is required',
  );
  check(toolChoice === undefined || toolChoice.mode in ToolChoice_Mode, 'prompt.tool_choice.mode', 'is unknown');
  const isNamed = toolChoice?.mode === ToolChoice_Mode.MODE_NAMED;
  check(!isNamed || tools.some(({ name }) => name === toolChoice.name), 'prompt.tool_choice.name', 'must name one of the tools');
}

/** Checks the reasoning of a request. */
export function checkReasoning(reasoning: Reasoning | undefined): void {
  check(
    reasoning === undefined || efforts.includes(reasoning.effort),
    'reasoning.effort',
    `must be one of ${efforts.slice(1).join(', ')}, or empty`,
  );
}

/** Checks the vendor version of a request. */
export function checkMessagesVersion(version: string): void {
  check(version === '' || /^\d{4}-\d{2}-\d{2}$/.test(version), 'messages_version', 'must be a date such as 2023-06-01, or empty');
}

type PartKind = NonNullable<Part['part']>['$case'];

const partsOfRole: Partial<Record<Role, readonly PartKind[]>> = {
  [Role.ROLE_USER]: ['text', 'image', 'document', 'toolResult'],
  // An older version of the messages format allows documents in answers too.
  [Role.ROLE_ASSISTANT]: ['text', 'document', 'toolCall', 'reasoning'],
  [Role.ROLE_SYSTEM]: ['text'],
};

const partsOfResults: readonly PartKind[] = ['text', 'image', 'document'];

function checkMessage({ role, parts }: Message): void {
  const kinds = partsOfRole[role];
  check(kinds !== undefined, 'prompt.messages.role', 'must be user, assistant or system');
  for (const { part } of parts) {
    check(part !== undefined && kinds.includes(part.$case), 'prompt.messages.parts', 'must contain only parts that the role allows');
    if (part.$case === 'toolCall')
      check(part.value.id !== '' && part.value.name !== '', 'prompt.messages.parts.tool_call', 'must have an id and a name');
    if (part.$case === 'toolResult') checkToolResult(part.value);
    if (part.$case === 'image' || part.$case === 'document')
      check(part.value.source !== undefined, `prompt.messages.parts.${part.$case}`, 'must have a source');
  }
}

function checkToolResult({ toolCallId, content }: ToolResultPart): void {
  check(toolCallId !== '', 'prompt.messages.parts.tool_result', 'must have the id of its call');
  for (const { part } of content) {
    check(
      part !== undefined && partsOfResults.includes(part.$case),
      'prompt.messages.parts.tool_result.content',
      'must contain only texts, images and documents',
    );
  }
}

function checkSampling(sampling: Sampling | undefined): void {
  if (sampling === undefined) return;
  checkRange(sampling.temperature, 0, 2, 'sampling.temperature');
  checkRange(sampling.topP, 0, 1, 'sampling.top_p');
  checkRange(sampling.frequencyPenalty, -2, 2, 'sampling.frequency_penalty');
  checkRange(sampling.presencePenalty, -2, 2, 'sampling.presence_penalty');
}

function checkRange(value: number | undefined, min: number, max: number, field: string): void {
  check(value === undefined || (value >= min && value <= max), field, `must be a number from ${min} to ${max}`);
}

function isName(text: string): boolean {
  return text.length <= requestLimits.nameChars;
}

function check(condition: boolean, field: string, rule: string): asserts condition {
  if (!condition) throw new AppError('invalid_request', `${field} ${rule}.`, { details: { field } });
}
