// The request body and the answer of POST /embeddings, for servers of OpenAI's formats. Pure.
import { ApiFormat, type Event, type GenerateRequest, StopReason } from '#proto/inference/v1/inference.js';
import { noReport, type UsageReport } from '../../tokens/usage-report.js';
import { readVector } from '../embeddings/vectors.js';
import { embeddingServers, publishedOnly, withCallerFields, withOperatorFields } from '../requests/caller-fields.js';
import type { AnswerHead, UpstreamBody, Wire } from '../http/wire.js';
import { brokenOff, isObject, malformed, type Outcome, parsePayload, type StreamDecoder } from '../answers/stream-decoder.js';
import { errorOf, frameError } from './error.js';
import type { ChatCompletionsFlavour } from './flavour.js';
import { readUsage } from './usage.js';

/** Returns the part of a wire format that embeds texts. */
export function embeddingsOf(flavour: ChatCompletionsFlavour, allowedFields: readonly string[]): NonNullable<Wire['embeddings']> {
  const rules = withOperatorFields(flavour.isOpenAi ? publishedOnly : embeddingServers, allowedFields);
  return {
    generatePath: '/embeddings',
    generateBody: (request, model) =>
      withCallerFields(embeddingsBody(request, model, flavour), request, ApiFormat.API_FORMAT_CHAT_COMPLETIONS, rules),
    decoder: (request, answer) => new EmbeddingsDecoder(request, answer),
  };
}

/** Returns the body. It requests base64, a quarter of the size, from OpenAI only, because other servers may not support it. */
export function embeddingsBody(
  { prompt, embedding, endUser }: GenerateRequest,
  model: string,
  { isOpenAi }: ChatCompletionsFlavour,
): UpstreamBody {
  const { tokenInputs, dimensions } = embedding!;
  const texts = prompt!.messages.map(({ parts }) => (parts[0]?.part?.$case === 'text' ? parts[0].part.value.text : ''));
  const json = JSON.stringify({
    model,
    input: texts.length > 0 ? texts : tokenInputs.map(({ ids }) => ids),
    dimensions,
    encoding_format: isOpenAi ? 'base64' : 'float',
    user: endUser === '' ? undefined : endUser,
  });
  return { json, dropped: [] };
}

/** Reads the one payload of an answer. */
export class EmbeddingsDecoder implements StreamDecoder {
  outcome: Outcome | undefined;
  report: UsageReport = noReport;
  readonly #inputs: number;

  constructor(
    { prompt, embedding }: GenerateRequest,
    private readonly head: AnswerHead,
  ) {
    this.#inputs = prompt!.messages.length + embedding!.tokenInputs.length;
  }

  // The answer is one body.
  readonly hasAllContent = false;

  get isReportFinal(): boolean {
    return this.outcome !== undefined;
  }

  push(data: string): Event[] {
    const payload = parsePayload(data);
    const error = errorOf(payload);
    if (error !== undefined && payload['data'] === undefined) throw frameError(error, this.head.target.upstreamModel);
    const vectors = this.#vectors(payload['data']);
    const { usage } = payload;
    // There is no output, so the total is the input; Voyage reports nothing else.
    const input = isObject(usage)
      ? readUsage({ ...usage, prompt_tokens: usage['prompt_tokens'] ?? usage['total_tokens'] }).input
      : noReport.input;
    this.report = { input, output: { outputTokens: 0, reasoningTokens: 0 } };
    this.outcome = { stopReason: StopReason.STOP_REASON_END, stopSequence: '' };
    const { model } = payload;
    const { target, requestId, droppedFields } = this.head;
    const started = {
      target,
      upstreamRequestId: requestId,
      upstreamReportedModel: typeof model === 'string' ? model : '',
      droppedFields: [...droppedFields],
    };
    return [{ event: { $case: 'started', value: started } }, ...vectors];
  }

  end(): Event[] {
    if (this.outcome === undefined) throw brokenOff();
    return [];
  }

  /** Returns the vectors in the order of the inputs: one for each, all of one length. */
  #vectors(data: unknown): Event[] {
    if (!Array.isArray(data) || data.length !== this.#inputs)
      throw malformed(`${Array.isArray(data) ? data.length : 'no'} vectors for ${this.#inputs} inputs`);
    const ordered: Event[] = [];
    let bytes: number | undefined;
    for (const [position, each] of data.entries()) {
      if (!isObject(each)) throw malformed('a vector that is not an object');
      const index = each['index'] ?? position;
      if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= this.#inputs || ordered[index] !== undefined)
        throw malformed('vectors whose indexes are not those of the inputs');
      const read = readVector(index, each['embedding']);
      const { length } = read.event?.$case === 'embedding' ? read.event.value.vector : Buffer.alloc(0);
      bytes ??= length;
      if (length !== bytes) throw malformed('vectors of different lengths');
      ordered[index] = read;
    }
    return ordered;
  }
}
