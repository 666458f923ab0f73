// Decides the whole answer of a sandbox model before the first token. Pure.
import { createHash } from 'node:crypto';
import { AppError } from '#client/errors/app-error.js';
import { type BlockStart, type GenerateRequest, StopReason, ToolChoice_Mode } from '#proto/inference/v1/inference.js';
import { type Directives, lastUserText, readDirectives } from './directives.js';
import { storySentences } from './story.js';
import { formed } from './structured-answer.js';
import { splitTokens } from './tokens.js';
import { argumentsFor } from './tool-arguments.js';

/** Default length of a story, in tokens. */
const storyTokens = 2000;

/** Tokens that `drop` and `stall` deliver first, unless a directive sets another number. */
const tokensBeforeFault = 5;

/** One block of the answer. */
interface PlannedBlock {
  readonly block: NonNullable<BlockStart['block']>;
  /** Each is one event and one billed token. */
  readonly tokens: readonly string[];
  /** Set for a reasoning block; empty otherwise. */
  readonly signature: string;
}

/** The whole answer. */
export interface Plan {
  readonly blocks: readonly PlannedBlock[];
  readonly stopReason: StopReason;
  readonly stopSequence: string;
  /** What happens after the last token. */
  readonly outcome: 'finish' | 'drop' | 'stall';
  readonly delayMs: number | undefined;
}

interface Draft {
  readonly block: PlannedBlock['block'];
  readonly text: string;
}

/** Returns the answer to a request. Raises upstream_* for models that fail before the first token, and for unknown ones. */
export function planAnswer(model: string, request: GenerateRequest): Plan {
  const text = lastUserText(request.prompt!);
  const directives = readDirectives(text);
  const outcome = model === 'drop' || model === 'stall' ? model : 'finish';
  const answer = limit(inForm(drafts(model, request, text, directives), request), request);
  return { ...answer, outcome, delayMs: directives.delayMs };
}

function drafts(model: string, request: GenerateRequest, text: string, directives: Directives): Draft[] {
  switch (model) {
    case 'echo':
      return [textDraft(text === '' ? 'There was no text to echo.' : text)];
    case 'story':
      return [textDraft(story(directives.tokens ?? storyTokens))];
    case 'drop':
    case 'stall':
      return [textDraft(story(directives.tokens ?? tokensBeforeFault))];
    case 'tool':
      return [toolDraft(request, text)];
    case 'reason':
      return reasonDrafts(request, text);
    case 'fail-429':
      throw new AppError('upstream_rate_limited', 'The sandbox rate-limits every call to this model.', { retryAfterMs: 1000 });
    case 'fail-500':
      throw new AppError('upstream_failed', 'The sandbox fails every call to this model.');
    default:
      throw noSuchModel();
  }
}

/** Returns the error for a model that the sandbox does not have. */
export function noSuchModel(): AppError {
  return new AppError('upstream_unavailable', 'The sandbox has no such model.');
}

/** Converts texts to the JSON that was requested. */
function inForm(answer: readonly Draft[], { responseFormat }: GenerateRequest): readonly Draft[] {
  if (responseFormat?.format === undefined) return answer;
  return answer.map(({ block, text }) => ({ block, text: block.$case === 'text' ? formed(text, responseFormat) : text }));
}

function textDraft(text: string): Draft {
  return { block: { $case: 'text', value: {} }, text };
}

function story(tokens: number): string {
  const written: string[] = [];
  for (const sentence of storySentences()) {
    if (written.length >= tokens) break;
    written.push(...splitTokens(sentence, tokens - written.length));
  }
  return written.join('');
}

function toolDraft(request: GenerateRequest, text: string): Draft {
  const { messages, tools, toolChoice } = request.prompt!;
  // The result may be anywhere in the conversation: an agent may write more after it, and would otherwise have to call the tool forever.
  const result = messages.flatMap(({ parts }) => parts).findLast(({ part }) => part?.$case === 'toolResult')?.part;
  if (result?.$case === 'toolResult') return textDraft(`The tool answered: ${result.value.text}`);
  if (toolChoice?.mode === ToolChoice_Mode.MODE_NONE) return textDraft('No tool may be called, so here is text.');
  const tool = tools.find(({ name }) => toolChoice?.mode === ToolChoice_Mode.MODE_NAMED && name === toolChoice.name) ?? tools[0];
  const name = tool?.name ?? 'get_weather';
  const callArguments = tool === undefined ? { city: text.slice(0, 100) || 'Paris' } : argumentsFor(tool, text);
  const id = `call_${createHash('sha256').update(`${name} ${messages.length} ${text}`).digest('hex').slice(0, 24)}`;
  return { block: { $case: 'toolCall', value: { id, name } }, text: JSON.stringify(callArguments) };
}

function reasonDrafts({ reasoning }: GenerateRequest, text: string): Draft[] {
  const answer = textDraft(`On reflection: ${text.slice(0, 200)}`);
  if (reasoning?.disabled === true || reasoning?.effort === 'none') return [answer];
  const thought = `The user wrote ${text.length} characters. I repeat the first of them, for that is all I can do.`;
  return [{ block: { $case: 'reasoning', value: { redactedData: '' } }, text: thought }, answer];
}

/** Applies max_output_tokens to the whole answer and stop_sequences to text. A tool's name is one token, sent with the block's start. */
function limit(answer: readonly Draft[], request: GenerateRequest): Pick<Plan, 'blocks' | 'stopReason' | 'stopSequence'> {
  const blocks: PlannedBlock[] = [];
  let left = request.maxOutputTokens;
  for (const { block, text } of answer) {
    if (left === 0) return { blocks, stopReason: StopReason.STOP_REASON_MAX_TOKENS, stopSequence: '' };
    if (block.$case === 'toolCall') left -= 1;
    const signature = block.$case === 'reasoning' ? createHash('sha256').update(text).digest('base64') : '';
    const tokens = splitTokens(text, left);
    const delivered = tokens.join('');
    const stop = block.$case === 'text' ? firstStop(delivered, request.stopSequences) : undefined;
    if (stop !== undefined) {
      const kept = splitTokens(delivered.slice(0, stop.at), left);
      return {
        blocks: [...blocks, { block, tokens: kept, signature }],
        stopReason: StopReason.STOP_REASON_STOP_SEQUENCE,
        stopSequence: stop.sequence,
      };
    }
    blocks.push({ block, tokens, signature });
    left -= tokens.length;
    if (delivered.length < text.length) return { blocks, stopReason: StopReason.STOP_REASON_MAX_TOKENS, stopSequence: '' };
  }
  const calls = blocks.some(({ block }) => block.$case === 'toolCall');
  return { blocks, stopReason: calls ? StopReason.STOP_REASON_TOOL_CALLS : StopReason.STOP_REASON_END, stopSequence: '' };
}

function firstStop(text: string, sequences: readonly string[]): { at: number; sequence: string } | undefined {
  const matches = sequences.map((sequence) => ({ at: text.indexOf(sequence), sequence })).filter(({ at }) => at >= 0);
  return matches.sort((one, other) => one.at - other.at)[0];
}
