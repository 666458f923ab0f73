// Inference with the stub vendor behind it, in two wire formats: upstream "cc" and upstream "m".
import type { Clock } from '#kit/clock.js';
import { callContext } from '#client/call-context.js';
import { ApiFormat, type GenerateRequest } from '#proto/inference/v1/inference.js';
import { type StubUpstream, startStubUpstream, stubApiKey } from '../../../tests/upstream/stub-upstream.js';
import type { InferenceConfig } from '../config.js';
import { localUpstream, startInference, type TestInference, textRequest } from './fixtures.js';

/** The context of calls by the operator. */
export const operator = callContext({ caller: 'operator' });

/** Inference and the stub vendor behind it. */
export interface Stubbed {
  readonly stub: StubUpstream;
  readonly inference: TestInference;
  stop(): Promise<void>;
}

/** Starts inference and the stub vendor with these settings. */
export async function startStubbed(changes: Partial<InferenceConfig> = {}, clock?: Clock): Promise<Stubbed> {
  const stub = await startStubUpstream();
  const inference = await startInference(changes, clock);
  for (const [id, apiFormat] of [
    ['cc', ApiFormat.API_FORMAT_CHAT_COMPLETIONS],
    ['cc-whole', ApiFormat.API_FORMAT_CHAT_COMPLETIONS],
    ['m', ApiFormat.API_FORMAT_MESSAGES],
    ['m-whole', ApiFormat.API_FORMAT_MESSAGES],
  ] as const) {
    const upstream = localUpstream(stub.baseUrl, { id, apiFormat, wholeAnswers: id.endsWith('-whole') });
    await inference.service.putUpstream({ upstream, secret: stubApiKey }, operator);
  }
  return {
    stub,
    inference,
    async stop() {
      await inference.stop();
      await stub.stop();
    },
  };
}

/** Returns a request for a model of the stub. */
export function stubRequest(model: string, upstreamId = 'cc', rest: Parameters<typeof textRequest>[1] = {}): GenerateRequest {
  return textRequest('Say hello.', { targets: [{ upstreamId, upstreamModel: model }], ...rest });
}
