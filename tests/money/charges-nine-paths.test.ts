// Charges on all nine paths between formats: tokens × price for every class of tokens, to the nano-dollar, from the figures in each vendor's
// own fields. The usage reported to the caller equals the usage on record.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { allUpstreams as formats, type Stage, startStage, type Upstream } from '../clients/stage.js';
import { type BalanceRow, nanoUsd, post, readSse, settled, sumOfCharges } from '../support/clients/calls.js';
import { eventually } from '../support/systems/process.js';
import { modes } from '../support/systems/system.js';
import type { Json } from '../upstream/checks/check.js';
import type { Script, Usage, UsagePlace } from '../upstream/script.js';

/** In nano-USD per million tokens; chosen so that every line has to be rounded. */
const prices = {
  input: 1_234_567_891n,
  cacheRead: 123_456_789n,
  cacheWrite5m: 1_543_209_877n,
  cacheWrite1h: 2_469_135_783n,
  output: 6_172_839_457n,
};
const reasoningPrice = 7_777_777_777n;

/** For a request, and for a search, of which a call may make three. */
const unitPrices = { request: 123_457n, search: 9_876_543n };
const searchesMax = 3;

type Pricing = 'plain' | 'apart' | 'searched';
type Classes = Required<Usage>;

const contextTokens = 100_000;
const imageTokensMax = 1600;

const usd = (nanoUsd: bigint): string => `${nanoUsd / 1_000_000_000n}.${(nanoUsd % 1_000_000_000n).toString().padStart(9, '0')}`;
const perLine = (tokens: number, price: bigint): bigint => (BigInt(tokens) * price + 999_999n) / 1_000_000n;

/** Returns what the tokens cost, with each line rounded up to a nano-dollar. */
function costOf({ input, cacheRead, cacheWrite5m, cacheWrite1h, output, reasoning }: Classes, pricing: Pricing): bigint {
  const apart = pricing === 'apart' ? reasoning : 0;
  return (
    perLine(input, prices.input) +
    perLine(cacheRead, prices.cacheRead) +
    perLine(cacheWrite5m, prices.cacheWrite5m) +
    perLine(cacheWrite1h, prices.cacheWrite1h) +
    perLine(output - apart, prices.output) +
    perLine(apart, reasoningPrice)
  );
}

interface Answer {
  readonly status: number;
  readonly requestId: string;
  /** In the fields of the format. */
  readonly usage: Json;
  readonly text: string;
}

const paths = formats.flatMap((client) => formats.flatMap((upstream) => [true, false].map((streamed) => ({ client, upstream, streamed }))));
/** Returns the body of a caller of this format who says this. */
function saying(client: Upstream, content: unknown): Json {
  const conversation = [{ role: 'user', content }];
  return client === 'responses' ? { max_output_tokens: 200, input: conversation } : { max_tokens: 200, messages: conversation };
}
const prompt = 'A prompt that is long enough for all of the input that the upstream reports of it. '.repeat(20);
const conversation = saying('messages', prompt);
const pathOf = { 'chat-completions': '/v1/chat/completions', messages: '/v1/messages', responses: '/v1/responses' };

describe.each(modes)('charges, %s', (mode) => {
  let stage: Stage;

  beforeAll(async () => {
    stage = await startStage(mode);
    for (const upstream of formats) for (const pricing of ['plain', 'apart', 'searched'] as const) await addPriced(upstream, pricing);
    await eventually(async () =>
      (await (await fetch(`${stage.system.baseUrl}/v1/catalog`)).text()).includes('responses/searched') ? true : undefined,
    );
  });

  afterAll(() => stage?.stop());

  async function addPriced(upstream: Upstream, pricing: Pricing): Promise<void> {
    const id = `${upstream}/${pricing}`;
    const file = join(stage.system.dataDir, 'priced.json');
    const targets = [{ upstream_id: upstream === 'chat-completions' ? 'openai' : upstream, upstream_model: upstream }];
    writeFileSync(
      file,
      JSON.stringify({
        id,
        display_name: id,
        context_limit_tokens: contextTokens,
        output_limit_tokens: 4000,
        input_modalities: ['text', 'image', 'document'],
        image_tokens_max: imageTokensMax,
        capabilities: ['tools', 'reasoning'],
        targets,
      }),
    );
    await stage.system.cli('model', 'put', file);
    const flags = {
      input: prices.input,
      'cache-read': prices.cacheRead,
      'cache-write-5m': prices.cacheWrite5m,
      'cache-write-1h': prices.cacheWrite1h,
      output: prices.output,
      ...(pricing === 'apart' ? { reasoning: reasoningPrice } : {}),
    };
    const searches = `web_search=${usd(unitPrices.search)},max=${searchesMax}`;
    const units = pricing === 'searched' ? ['--unit', `request=${usd(unitPrices.request)}`, '--unit', searches] : [];
    await stage.system.cli(
      'price',
      'publish',
      id,
      ...Object.entries(flags).flatMap(([name, price]) => [`--${name}`, usd(price)]),
      ...units,
    );
  }

  async function ask(
    client: Upstream,
    upstream: Upstream,
    pricing: Pricing,
    streamed: boolean,
    body: Json = saying(client, prompt),
  ): Promise<Answer> {
    const options = client === 'chat-completions' && streamed ? { stream_options: { include_usage: true } } : {};
    const response = await post(stage.system, pathOf[client], stage.system.firstKey, {
      model: `${upstream}/${pricing}`,
      ...body,
      stream: streamed,
      ...options,
    });
    const requestId = response.headers.get('x-request-id')!;
    if (response.status !== 200 || !streamed) {
      const text = await response.text();
      return { status: response.status, requestId, usage: ((JSON.parse(text) as Json)['usage'] ?? {}) as Json, text };
    }
    const events = (await readSse(response)).map(({ data }) => data as Json);
    const usages = events
      .filter((data) => typeof data === 'object')
      .map((data) => ((data['response'] as Json | undefined) ?? data)['usage'] as Json | null | undefined)
      .filter((usage) => usage !== undefined && usage !== null);
    return { status: 200, requestId, usage: usages.at(-1) ?? {}, text: JSON.stringify(events) };
  }

  /** Returns the classes in the fields of this format. Only whole messages distinguish the lifetimes of cache writes. */
  function shownIn(
    client: Upstream,
    streamed: boolean,
    { input, cacheRead, cacheWrite5m, cacheWrite1h, output, reasoning }: Classes,
  ): Json {
    const written = cacheWrite5m + cacheWrite1h;
    if (client === 'chat-completions') {
      const prompt = input + cacheRead + written;
      return {
        prompt_tokens: prompt,
        completion_tokens: output,
        total_tokens: prompt + output,
        prompt_tokens_details: { cached_tokens: cacheRead, cache_write_tokens: written },
        completion_tokens_details: { reasoning_tokens: reasoning },
      };
    }
    if (client === 'responses') {
      const prompted = input + cacheRead + written;
      return {
        input_tokens: prompted,
        input_tokens_details: { cached_tokens: cacheRead, cache_write_tokens: written },
        output_tokens: output,
        output_tokens_details: { reasoning_tokens: reasoning },
        total_tokens: prompted + output,
      };
    }
    return {
      input_tokens: input,
      cache_read_input_tokens: cacheRead,
      cache_creation_input_tokens: written,
      ...(streamed ? {} : { cache_creation: { ephemeral_5m_input_tokens: cacheWrite5m, ephemeral_1h_input_tokens: cacheWrite1h } }),
      output_tokens: output,
      output_tokens_details: { thinking_tokens: reasoning },
    };
  }

  /** Returns the part of the figures that the fields of this upstream's format can express. */
  const asReported = (upstream: Upstream, usage: Classes): Classes =>
    upstream === 'messages' ? usage : { ...usage, cacheWrite5m: usage.cacheWrite5m + usage.cacheWrite1h, cacheWrite1h: 0 };

  async function expectCharged(
    { requestId }: Answer,
    usage: Classes,
    pricing: Pricing,
    marks: Json = { usage_source: 'reported', quarantined: false },
  ): Promise<void> {
    const { tokens, charge_usd, ...record } = await stage.charge(requestId);
    expect(tokens).toMatchObject({
      input: usage.input,
      cache_read: usage.cacheRead,
      cache_write_5m: usage.cacheWrite5m,
      cache_write_1h: usage.cacheWrite1h,
      output: usage.output,
      reasoning: usage.reasoning,
    });
    expect(nanoUsd(charge_usd)).toBe(costOf(usage, pricing));
    expect(record).toMatchObject(marks);
  }

  const every: Classes = { input: 117, cacheRead: 71, cacheWrite5m: 53, cacheWrite1h: 31, output: 137, reasoning: 29 };
  const usages: readonly [string, Classes][] = [
    ['every class at once', every],
    ['only input and output', { input: 7, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0, output: 1, reasoning: 0 }],
    ['a prompt read entirely from the cache', { input: 0, cacheRead: 311, cacheWrite5m: 0, cacheWrite1h: 0, output: 3, reasoning: 0 }],
    [
      'a prompt written entirely to the cache for an hour',
      { input: 0, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 307, output: 3, reasoning: 0 },
    ],
    ['reasoning alone', { input: 13, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0, output: 64, reasoning: 64 }],
  ];

  it.each(usages)(
    'are tokens × price for %s, on each path, streamed and whole, with and without a price for reasoning',
    async (_name, usage) => {
      for (const { client, upstream, streamed } of paths) {
        for (const pricing of ['plain', 'apart'] as const) {
          stage.play(upstream, {
            usage,
            blocks: [
              { type: 'reasoning', text: 'Hm.', signature: 'c2ln' },
              { type: 'text', text: 'Hello.' },
            ],
          });
          const answer = await ask(client, upstream, pricing, streamed);
          const reported = asReported(upstream, usage);
          expect({ client, upstream, streamed, usage: answer.usage }).toMatchObject({
            client,
            upstream,
            streamed,
            usage: shownIn(client, streamed, reported),
          });
          await expectCharged(answer, reported, pricing);
        }
      }
    },
  );

  const places: readonly [UsagePlace, Upstream][] = [
    ['finish-chunk', 'chat-completions'],
    ['every-chunk', 'chat-completions'],
    ['first-chunk', 'chat-completions'],
    ['zero-at-end', 'chat-completions'],
    ['zero-at-end', 'messages'],
  ];

  it.each(places)('are the same wherever a stream reports its usage: %s over %s', async (usagePlace, upstream) => {
    for (const { client, streamed } of paths.filter((path) => path.upstream === upstream)) {
      stage.play(upstream, { usage: every, usagePlace });
      const answer = await ask(client, upstream, 'apart', streamed);
      // If message_delta has zeros for everything but the output, reasoning is never reported.
      const reported = asReported(upstream, upstream === 'messages' ? { ...every, reasoning: 0 } : every);
      expect(answer.usage).toMatchObject(shownIn(client, streamed, reported));
      await expectCharged(answer, reported, 'apart');
    }
  });

  it('count all requested choices, beyond the cap of each, and nothing where a route does not support choices', async () => {
    const usage: Classes = { ...every, output: 450, reasoning: 0 };
    const text = (words: string): Script['blocks'] => [{ type: 'text', text: words }];
    for (const streamed of [true, false]) {
      stage.play('chat-completions', { usage, blocks: text('One.'), otherChoices: [text('Two.')!, text('Three.')!] });
      const answer = await ask('chat-completions', 'chat-completions', 'plain', streamed, { ...conversation, n: 3 });
      expect(answer.text).toContain('Three.');
      expect(answer.usage).toMatchObject({ completion_tokens: 450 });
      await expectCharged(answer, asReported('chat-completions', usage), 'plain');
    }
    const requests = stage.play('messages', {});
    expect((await ask('chat-completions', 'messages', 'plain', false, { ...conversation, n: 3 })).status).toBe(400);
    expect(requests()).toEqual([]);
  });

  it('count all requested choices by our tokenizer where the upstream reports the usage of one', async () => {
    const texts = ['One two three four five six seven eight nine ten.', 'Eleven twelve thirteen fourteen fifteen sixteen.'] as const;
    const counts = texts.map((words) => countTokens(words));
    const usage: Classes = { ...every, output: counts[0]!, reasoning: 0 };
    for (const streamed of [true, false]) {
      const text = (words: string): NonNullable<Script['blocks']> => [{ type: 'text', text: words }];
      stage.play('chat-completions', { usage, blocks: text(texts[0]), otherChoices: [text(texts[1])] });
      const answer = await ask('chat-completions', 'chat-completions', 'plain', streamed, { ...conversation, n: 2 });
      const charged = asReported('chat-completions', { ...usage, output: counts[0]! + counts[1]! });
      expect(answer.usage).toMatchObject({ completion_tokens: charged.output });
      await expectCharged(answer, charged, 'plain', {
        usage_source: 'estimated',
        quarantined: true,
        outcome_detail: 'output_below_count',
      });
    }
  });

  it('are only for the prompt when a caller writes it to the cache without requesting an answer', async () => {
    const usage: Classes = { input: 5, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 300, output: 0, reasoning: 0 };
    for (const streamed of [true, false]) {
      stage.play('messages', { usage, blocks: [], stopReason: 'max_tokens' });
      const answer = await ask('messages', 'messages', 'apart', streamed, { ...conversation, max_tokens: 0 });
      expect(answer).toMatchObject({ status: 200, usage: shownIn('messages', streamed, usage) });
      await expectCharged(answer, usage, 'apart');
    }
  });

  /** Returns what is held while the call runs. */
  async function heldDuring(call: () => Promise<Answer>): Promise<{ heldNanoUsd: bigint; answer: Answer }> {
    await settled(stage.system, stage.accountId);
    const answer = call();
    const heldNanoUsd = await eventually(async () => {
      const { held_nano_usd } = await stage.system.json<BalanceRow>('balance', 'show', '--account', stage.accountId);
      return held_nano_usd === '0' ? undefined : BigInt(held_nano_usd);
    });
    return { heldNanoUsd, answer: await answer };
  }

  const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
  const pdf = Buffer.from('%PDF-1.4\n%%EOF').toString('base64');
  const imageIn: Record<Upstream, Json> = {
    'chat-completions': { type: 'image_url', image_url: { url: `data:image/png;base64,${pixel}` } },
    messages: { type: 'image', source: { type: 'base64', media_type: 'image/png', data: pixel } },
    responses: { type: 'input_image', image_url: `data:image/png;base64,${pixel}` },
  };
  const pdfIn: Record<Upstream, Json> = {
    'chat-completions': { type: 'file', file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${pdf}` } },
    messages: { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: pdf } },
    responses: { type: 'input_file', filename: 'a.pdf', file_data: `data:application/pdf;base64,${pdf}` },
  };
  const showing = (client: Upstream, ...parts: Json[]): Json =>
    saying(client, [{ type: client === 'responses' ? 'input_text' : 'text', text: 'What is this?' }, ...parts]);
  // The most expensive class of input cannot be ruled out in advance.
  const dearest = prices.cacheWrite1h;
  const outputHeld = perLine(200, prices.output);

  it.each(formats.flatMap((client) => formats.map((upstream) => [client, upstream] as const)))(
    'for images, from %s over %s, are held per image, and the unused part is released',
    async (client, upstream) => {
      const usage: Classes = { input: 3100, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0, output: 5, reasoning: 0 };
      stage.play(upstream, { usage, fault: { kind: 'slow-headers', delayMs: 1500 } });
      const { heldNanoUsd, answer } = await heldDuring(() =>
        ask(client, upstream, 'plain', true, showing(client, imageIn[client], imageIn[client])),
      );
      const inputHeld = heldNanoUsd - outputHeld;
      expect(inputHeld).toBeGreaterThan(perLine(2 * imageTokensMax, dearest));
      // The bytes of the images do not count as text; all of the text is a few hundred tokens.
      expect(inputHeld).toBeLessThan(perLine(2 * imageTokensMax + 600, dearest));
      expect(answer.status).toBe(200);
      await expectCharged(answer, usage, 'plain');
    },
  );

  it.each(formats.flatMap((client) => formats.map((upstream) => [client, upstream] as const)))(
    'for a document, from %s over %s, are held for a full context, and charged for what was used',
    async (client, upstream) => {
      const usage: Classes = { input: 90_001, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0, output: 5, reasoning: 0 };
      stage.play(upstream, { usage, fault: { kind: 'slow-headers', delayMs: 1500 } });
      const { heldNanoUsd, answer } = await heldDuring(() => ask(client, upstream, 'plain', true, showing(client, pdfIn[client])));
      const inputHeld = heldNanoUsd - outputHeld;
      expect(inputHeld).toBeGreaterThanOrEqual(perLine(contextTokens, dearest));
      expect(inputHeld).toBeLessThan(perLine(contextTokens + 1, dearest));
      expect(answer.status).toBe(200);
      await expectCharged(answer, usage, 'plain');
    },
  );

  describe('with searches that the vendor runs', () => {
    const usage = { input_tokens: 4321, output_tokens: 57 };
    const used: Classes = { input: 4321, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0, output: 57, reasoning: 0 };
    const tokensCost = costOf(used, 'plain');
    const messages = [{ role: 'user' as const, content: 'What is new?' }];
    const prompted = { prompt_tokens: 4321, completion_tokens: 57, total_tokens: 4378 };
    const clientsOf = () => ({
      openai: new OpenAI({ baseURL: `${stage.system.baseUrl}/v1`, apiKey: stage.system.firstKey, maxRetries: 0 }),
      anthropic: new Anthropic({ baseURL: stage.system.baseUrl, apiKey: stage.system.firstKey, maxRetries: 0 }),
    });

    async function expectSearches(requestId: string, searches: number, marks: Json = {}): Promise<void> {
      const record = (await stage.charge(requestId)) as unknown as Json;
      const due = tokensCost + unitPrices.request + BigInt(searches) * unitPrices.search;
      const counted = [
        { unit: 'request', quantity: 1 },
        { unit: 'web_search', quantity: searches },
      ];
      expect(record).toMatchObject({
        charge_usd: usd(due).replace(/0+$/, ''),
        units: searches === 0 ? counted.slice(0, 1) : counted,
        ...marks,
      });
    }

    it('are charged by the vendor’s count, to a caller of the official libraries', async () => {
      const { openai, anthropic } = clientsOf();
      const tools = [{ type: 'web_search_20250305' as const, name: 'web_search' as const }];
      for (const [maxUses, sent] of [
        [undefined, searchesMax],
        [2, 2],
        [9, searchesMax],
      ] as const) {
        const requests = stage.play('messages', { rawUsage: { ...usage, server_tool_use: { web_search_requests: 2 } } });
        const { data, response } = await anthropic.messages
          .create({ model: 'messages/searched', max_tokens: 200, messages, tools: [{ ...tools[0]!, max_uses: maxUses }] })
          .withResponse();
        expect(data.usage.server_tool_use?.web_search_requests).toBe(2);
        expect((requests()[0]!.body['tools'] as Json[])[0]).toMatchObject({ type: 'web_search_20250305', max_uses: sent });
        await expectSearches(response.headers.get('request-id')!, 2);
      }
      stage.play('chat-completions', { rawUsage: { ...prompted, server_tool_use: { web_search_requests: 3 } } }, { rawUsage: prompted });
      for (const searches of [3, 1]) {
        const stream = await openai.chat.completions
          .create({ model: 'chat-completions/searched', max_tokens: 200, messages, web_search_options: {}, stream: true })
          .withResponse();
        for await (const _chunk of stream.data);
        await expectSearches(stream.response.headers.get('x-request-id')!, searches);
      }
      const item = (action: string) => ({
        type: 'vendor' as const,
        item: { type: 'web_search_call', action: { type: action, query: 'news' } },
      });
      const found = [item('search'), item('open_page'), item('search'), { type: 'text' as const, text: 'Nothing.' }];
      const requests = stage.play('responses', { rawUsage: { ...usage, total_tokens: 4378 }, blocks: found });
      const { data, response } = await openai.responses
        .create({ model: 'responses/searched', max_output_tokens: 200, input: 'What is new?', tools: [{ type: 'web_search' }] })
        .withResponse();
      expect(data.output_text).toBe('Nothing.');
      expect(requests()[0]!.body).toMatchObject({ max_tool_calls: searchesMax });
      await expectSearches(response.headers.get('x-request-id')!, 2);
    });

    it('are charged at most as many as were held for, and none if none were made', async () => {
      const { anthropic } = clientsOf();
      const search = { type: 'web_search_20250305' as const, name: 'web_search' as const, max_uses: 1 };
      for (const [reported, charged] of [
        [2, 1],
        [0, 0],
      ] as const) {
        stage.play('messages', { rawUsage: { ...usage, server_tool_use: { web_search_requests: reported } } });
        const { response } = await anthropic.messages
          .create({ model: 'messages/searched', max_tokens: 200, messages, tools: [search] })
          .withResponse();
        const marks = { quarantined: reported > charged, outcome_detail: reported > charged ? 'unit_above_cap (web_search 2 of 1)' : null };
        await expectSearches(response.headers.get('request-id')!, charged, marks);
      }
    });

    it('are offered by Codex in every call, and left out where they have no price or the vendor has none', async () => {
      const { openai } = clientsOf();
      const ask = (model: string) =>
        openai.responses
          .create(
            { model, max_output_tokens: 200, input: 'What is new?', tools: [{ type: 'web_search' }] },
            { headers: { originator: 'codex_exec' } },
          )
          .withResponse();
      for (const [model, upstream] of [
        ['responses/searched', 'responses'],
        ['responses/plain', 'responses'],
        ['messages/searched', 'messages'],
      ] as const) {
        const isSearched = model === 'responses/searched';
        const search = { type: 'vendor' as const, item: { type: 'web_search_call', action: { type: 'search', query: 'news' } } };
        const text = { type: 'text' as const, text: 'Nothing.' };
        const requests = stage.play(upstream, { rawUsage: usage, blocks: isSearched ? [search, text] : [text] });
        const { data, response } = await ask(model);
        expect(data.output_text).toBe('Nothing.');
        expect(requests()[0]!.body['tools']).toEqual(isSearched ? [{ type: 'web_search' }] : undefined);
        expect(response.headers.get('x-tollgate-dropped-params')).toBe(isSearched ? null : 'tools.web_search');
        if (model !== 'responses/plain') await expectSearches(response.headers.get('x-request-id')!, isSearched ? 1 : 0);
      }
    });

    it('are refused by name where they have no price, and cost the vendor nothing', async () => {
      const { openai, anthropic } = clientsOf();
      const requests = stage.play('messages', {});
      const search = { type: 'web_search_20250305' as const, name: 'web_search' as const };
      await expect(anthropic.messages.create({ model: 'messages/plain', max_tokens: 200, messages, tools: [search] })).rejects.toThrow(
        /tools\.0\.type: the model has no price for the unit/,
      );
      const others = stage.play('chat-completions', {});
      await expect(
        openai.chat.completions.create({ model: 'chat-completions/plain', max_tokens: 200, messages, web_search_options: {} }),
      ).rejects.toThrow(/web_search_options: the model has no price for the unit/);
      expect([...requests(), ...others()]).toEqual([]);
    });
  });

  it('add up to what the balance has spent', async () => {
    const { rows, balance } = await settled(stage.system, stage.accountId);
    expect(sumOfCharges(rows)).toBe(BigInt(balance.spent_nano_usd));
    expect(rows.filter((row) => row.shortfall_nano_usd !== '0' && row.shortfall_nano_usd !== null)).toEqual([]);
    expect(await stage.system.json('balance', 'verify')).toMatchObject({ ok: true });
  });
});
