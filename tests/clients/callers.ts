// Every library behind one interface, for tests of what all of them must do: fail, retry and disconnect.
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, type LanguageModel, streamText } from 'ai';
import { anthropicLibraries, openaiLibraries } from './libraries.js';

/** One call. */
export interface Question {
  /** Without /v1. */
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly model: string;
  readonly streamed: boolean;
  readonly maxRetries: number;
  readonly prompt?: string;
  readonly signal?: AbortSignal;
  /** Receives all of the text so far, each time more arrives. */
  readonly onText?: (text: string) => void;
}

/** The requests that were sent over the wire. */
export interface Attempt {
  readonly status: number;
  readonly requestId: string | null;
  /** When it was sent. */
  readonly atMs: number;
}

/** A caller that uses one of the libraries. */
export interface Caller {
  readonly name: string;
  readonly format: 'chat-completions' | 'messages' | 'responses';
  /** Makes a call and returns the text of the answer. Raises what the library raises. */
  ask(question: Question, fetch: typeof globalThis.fetch): Promise<string>;
}

/** Makes a call and returns its outcome. */
export async function ask(caller: Caller, question: Question): Promise<{ text?: string; error?: unknown; attempts: Attempt[] }> {
  const attempts: Attempt[] = [];
  const counted: typeof globalThis.fetch = async (...args) => {
    const atMs = Date.now();
    const response = await fetch(...args);
    attempts.push({ status: response.status, requestId: response.headers.get('x-request-id'), atMs });
    return response;
  };
  try {
    return { text: await caller.ask(question, counted), attempts };
  } catch (error) {
    return { error, attempts };
  }
}

const promptOf = ({ prompt = 'Hello there' }: Question): [{ role: 'user'; content: string }] => [{ role: 'user', content: prompt }];

const openaiCallers = openaiLibraries.map(({ name, OpenAI }): Caller => ({
  name,
  format: 'chat-completions',
  async ask(question, fetch) {
    const { model, signal } = question;
    const client = new OpenAI({ baseURL: `${question.baseUrl}/v1`, apiKey: question.apiKey, maxRetries: question.maxRetries, fetch });
    if (!question.streamed)
      return (await client.chat.completions.create({ model, messages: promptOf(question) }, { signal })).choices[0]!.message.content ?? '';
    let text = '';
    for await (const chunk of await client.chat.completions.create({ model, messages: promptOf(question), stream: true }, { signal })) {
      text += chunk.choices[0]?.delta.content ?? '';
      question.onText?.(text);
    }
    return text;
  },
}));

const responsesCallers = openaiLibraries.map(({ name, OpenAI }): Caller => ({
  name: `${name}, responses`,
  format: 'responses',
  async ask(question, fetch) {
    const { model, signal } = question;
    const client = new OpenAI({ baseURL: `${question.baseUrl}/v1`, apiKey: question.apiKey, maxRetries: question.maxRetries, fetch });
    if (!question.streamed) return (await client.responses.create({ model, input: promptOf(question) }, { signal })).output_text;
    let text = '';
    for await (const event of await client.responses.create({ model, input: promptOf(question), stream: true }, { signal })) {
      if (event.type !== 'response.output_text.delta') continue;
      text += event.delta;
      question.onText?.(text);
    }
    return text;
  },
}));

const anthropicCallers = anthropicLibraries.map(({ name, Anthropic }): Caller => ({
  name,
  format: 'messages',
  async ask(question, fetch) {
    const { model, signal } = question;
    const client = new Anthropic({ baseURL: question.baseUrl, apiKey: question.apiKey, maxRetries: question.maxRetries, fetch });
    const body = { model, max_tokens: 100, messages: promptOf(question) };
    if (!question.streamed)
      return (await client.messages.create(body, { signal })).content.map((block) => (block.type === 'text' ? block.text : '')).join('');
    let text = '';
    for await (const event of await client.messages.create({ ...body, stream: true }, { signal })) {
      if (event.type !== 'content_block_delta' || event.delta.type !== 'text_delta') continue;
      text += event.delta.text;
      question.onText?.(text);
    }
    return text;
  },
}));

type Settings = { baseURL: string; apiKey: string; fetch: typeof globalThis.fetch };

// This provider does not derive capabilities from the name of a model, so they are passed explicitly.
const compatible = (id: string, settings: Settings): LanguageModel =>
  createOpenAICompatible({
    name: 'tollgate',
    includeUsage: true,
    supportsStructuredOutputs: true,
    supportedUrls: () => ({ 'image/*': [/^https:/] }),
    ...settings,
  })(id);

/** The providers of the AI SDK that can be used with a gateway. The one for OpenAI's own chat completions does not support reasoning text. */
export const aiSdkProviders: readonly {
  name: string;
  format: Caller['format'];
  readsReasoning: boolean;
  model(id: string, settings: Settings): LanguageModel;
}[] = [
  { name: '@ai-sdk/openai', format: 'responses', readsReasoning: true, model: (id, settings) => createOpenAI(settings)(id) },
  {
    name: '@ai-sdk/openai, chat',
    format: 'chat-completions',
    readsReasoning: false,
    model: (id, settings) => createOpenAI(settings).chat(id),
  },
  { name: '@ai-sdk/openai-compatible', format: 'chat-completions', readsReasoning: true, model: compatible },
  { name: '@ai-sdk/anthropic', format: 'messages', readsReasoning: true, model: (id, settings) => createAnthropic(settings)(id) },
];

const aiSdkCallers = aiSdkProviders.map(({ name, format, model }): Caller => ({
  name,
  format,
  async ask(question, fetch) {
    const call = {
      model: model(question.model, { baseURL: `${question.baseUrl}/v1`, apiKey: question.apiKey, fetch }),
      messages: promptOf(question),
      maxRetries: question.maxRetries,
      abortSignal: question.signal,
    };
    if (!question.streamed) return (await generateText(call)).text;
    let text = '';
    for await (const part of streamText({ ...call, onError: () => undefined }).fullStream) {
      if (part.type === 'error') throw part.error;
      if (part.type === 'abort') throw question.signal?.reason;
      if (part.type !== 'text-delta') continue;
      text += part.text;
      question.onText?.(text);
    }
    return text;
  },
}));

/** All of them. */
export const callers: readonly Caller[] = [...openaiCallers, ...responsesCallers, ...anthropicCallers, ...aiSdkCallers];
