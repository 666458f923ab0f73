// A client that accumulates a stream with a vendor's own library gets the same as a caller of the whole answer, whatever the upstream sends.
import Anthropic from '@anthropic-ai/sdk';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import OpenAI from 'openai';
import { type Event, StopReason } from '#proto/inference/v1/inference.js';
import { chatCompletions } from './chat-completions/index.js';
import type { Format } from './format.js';
import { messages } from './messages/index.js';
import { responses } from './responses/index.js';
import { answers } from './testing/answers.js';
import { answerContext, counts, finished, refusalBlock, started } from './testing/events.js';
import { streamed, whole } from './testing/frames.js';
import { nativeChatAnswers, nativeMessageAnswers, nativeResponseAnswers } from './testing/native-answers.js';

// The split of cache writes is only sent at the start, when such upstreams have already counted.
const context = { ...answerContext, includeUsage: true, inputEstimate: counts };

/** Returns a fetch that always responds with this stream, with a keep-alive after each frame. */
const answering = (format: Format, events: readonly Event[]): typeof fetch => {
  const text = streamed(format, context, ...events.map((event) => [event])).replaceAll('\n\n', `\n\n${format.keepAlive}`);
  return async () => new Response(text, { headers: { 'content-type': 'text/event-stream' } });
};

interface Completion {
  choices: { index: number; message: { content: string | null; tool_calls?: object[] }; [field: string]: unknown }[];
  [field: string]: unknown;
}

async function completionOf(events: readonly Event[]): Promise<Completion> {
  const client = new OpenAI({ apiKey: 'key', maxRetries: 0, fetch: answering(chatCompletions, events) });
  const completion = await client.chat.completions
    .stream({ model: 'm', messages: [], stream_options: { include_usage: true } })
    .finalChatCompletion();
  // Choices that never arrived are holes in the library's list.
  return { ...completion, choices: completion.choices.filter((choice) => choice !== undefined) } as unknown as Completion;
}

async function messageOf(events: readonly Event[]): Promise<object> {
  const client = new Anthropic({ apiKey: 'key', maxRetries: 0, fetch: answering(messages, events) });
  return client.messages.stream({ model: 'm', messages: [], max_tokens: 1 }).finalMessage();
}

async function responseOf(events: readonly Event[]): Promise<object> {
  const client = new OpenAI({ apiKey: 'key', maxRetries: 0, fetch: answering(responses, events) });
  return client.responses.stream({ model: 'm', input: 'Hi' }).finalResponse();
}

/** Returns the completion without the library's defaults for absent fields: text is empty, not null; tool calls are absent, not an empty list. */
function comparable({ choices, object: _object, ...top }: Completion): object {
  return {
    ...top,
    choices: choices.map(({ message: { content, tool_calls: calls, ...message }, ...choice }) => ({
      ...choice,
      message: { ...message, content: content ?? '', calls: calls ?? [] },
    })),
  };
}

describe('a chat-completions stream, accumulated by its library', () => {
  const same = async (events: Event[]): Promise<void> => {
    const expected = comparable(whole(chatCompletions, context, events) as Completion) as {
      choices: { message: { annotations?: unknown; reasoning_content?: unknown } }[];
    };
    for (const { message } of expected.choices) {
      // Only whole answers include this list when it is empty.
      delete message.annotations;
      // The library keeps only the last piece of a field that it does not know.
      delete message.reasoning_content;
    }
    expect(comparable(await completionOf(events))).toMatchObject(expected);
  };

  it('is the whole answer, over any upstream', async () => {
    await fc.assert(fc.asyncProperty(answers, same), { numRuns: 60 });
  });

  it('is the whole answer, over an upstream of the format', async () => {
    await fc.assert(fc.asyncProperty(nativeChatAnswers, same), { numRuns: 150 });
  });

  it('is a refusal where the library parses an answer with a schema', async () => {
    const schema = { type: 'object', properties: {}, required: [], additionalProperties: false };
    const events = [started, ...refusalBlock(0, 'I may not.'), finished(StopReason.STOP_REASON_REFUSAL)];
    const client = new OpenAI({ apiKey: 'key', fetch: answering(chatCompletions, events) });
    const { choices } = await client.chat.completions
      .stream({ model: 'm', messages: [], response_format: { type: 'json_schema', json_schema: { name: 'out', strict: true, schema } } })
      .finalChatCompletion();
    expect(choices[0]).toMatchObject({ finish_reason: 'stop', message: { refusal: 'I may not.', parsed: null } });
  });
});

describe('a messages stream, accumulated by its library', () => {
  const same = async (events: Event[]): Promise<void> => {
    expect(JSON.parse(JSON.stringify(await messageOf(events)))).toMatchObject(whole(messages, context, events) as object);
  };

  it('is the whole answer, over any upstream', async () => {
    await fc.assert(fc.asyncProperty(answers, same), { numRuns: 60 });
  });

  it('is the whole answer, over an upstream of the format', async () => {
    await fc.assert(fc.asyncProperty(nativeMessageAnswers, same), { numRuns: 150 });
  });
});

describe('a responses stream, accumulated by its library', () => {
  const same = async (events: Event[]): Promise<void> => {
    expect(JSON.parse(JSON.stringify(await responseOf(events)))).toMatchObject(whole(responses, context, events) as object);
  };

  it('is the whole answer, over any upstream', async () => {
    await fc.assert(fc.asyncProperty(answers, same), { numRuns: 40 });
  });

  it('is the whole answer, over an upstream of the format', async () => {
    await fc.assert(fc.asyncProperty(nativeResponseAnswers, same), { numRuns: 60 });
  });
});
