// Whoever puts a stream together with a vendor's own library has what another caller gets whole, whatever the upstream says.
import Anthropic from '@anthropic-ai/sdk';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import OpenAI from 'openai';
import type { Event } from '#proto/inference/v1/inference.js';
import { chatCompletions } from './chat-completions/index.js';
import type { Format } from './format.js';
import { messages } from './messages/index.js';
import { answers } from './testing/answers.js';
import { answerContext, counts } from './testing/events.js';
import { streamed, whole } from './testing/frames.js';
import { nativeChatAnswers, nativeMessageAnswers } from './testing/native-answers.js';

// The split of cache writes is told at the start only, when such upstreams have counted already.
const context = { ...answerContext, includeUsage: true, inputEstimate: counts };

/** A fetch whose every answer is this stream. */
const answering = (format: Format, events: readonly Event[]): typeof fetch => {
  const text = streamed(format, context, ...events.map((event) => [event]));
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
  // Choices that never came are holes in the library's list.
  return { ...completion, choices: completion.choices.filter((choice) => choice !== undefined) } as unknown as Completion;
}

async function messageOf(events: readonly Event[]): Promise<object> {
  const client = new Anthropic({ apiKey: 'key', maxRetries: 0, fetch: answering(messages, events) });
  return client.messages.stream({ model: 'm', messages: [], max_tokens: 1 }).finalMessage();
}

/** The same but for what the library makes of absence: text is empty, not null; there are no tool calls, not an empty list. */
function comparable({ choices, object: _object, ...top }: Completion): object {
  return {
    ...top,
    choices: choices.map(({ message: { content, tool_calls: calls, ...message }, ...choice }) => ({
      ...choice,
      message: { ...message, content: content ?? '', calls: calls ?? [] },
    })),
  };
}

describe('a chat-completions stream, put together by its library', () => {
  const same = async (events: Event[]): Promise<void> => {
    const expected = comparable(whole(chatCompletions, context, events) as Completion) as {
      choices: { message: { annotations?: unknown; reasoning_content?: unknown } }[];
    };
    for (const { message } of expected.choices) {
      // Only whole answers have this list when it is empty.
      delete message.annotations;
      // Of pieces of a field that it does not know, the library keeps the last.
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
});

describe('a messages stream, put together by its library', () => {
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
