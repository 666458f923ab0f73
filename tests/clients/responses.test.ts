// Clients of the responses format: the official library, its agents, and the Codex CLI, over upstreams of every format. The agents also use the
// chat-completions format. The default provider of the AI SDK is in ai-sdk.test.ts.
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Agent, OpenAIProvider, Runner, setTracingDisabled, tool } from '@openai/agents';
import type OpenAI from 'openai';
import { zodTextFormat } from 'openai/helpers/zod';
import { z } from 'zod';
import { settled } from '../support/clients/calls.js';
import { root } from '../support/systems/process.js';
import { expectNoneRefused } from '../upstream/expect-none-refused.js';
import { reasoning, signedThoughts, text, textBlock, thirdRequest, threeTurns, timeCall, ToolRun, usage, weatherCall } from './answers.js';
import { openaiLibraries } from './libraries.js';
import { pdfUrl, pngUrl, remotePicture, shownTo } from './media.js';
import { allUpstreams as upstreams, type Charge, firstThought, type Stage, startStage } from './stage.js';

let stage: Stage;

beforeAll(async () => {
  setTracingDisabled(true);
  stage = await startStage();
});

afterEach(() => expectNoneRefused(stage.stub));
afterAll(() => stage?.stop());

/** Returns the charged usage in the fields of this format. */
function shown({ tokens }: Charge): object {
  const input = tokens.input + tokens.cache_read + tokens.cache_write_5m + tokens.cache_write_1h;
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: tokens.cache_read, cache_write_tokens: tokens.cache_write_5m + tokens.cache_write_1h },
    output_tokens: tokens.output,
    output_tokens_details: { reasoning_tokens: tokens.reasoning },
    total_tokens: input + tokens.output,
  };
}

const functions = ['get_weather', 'get_time'].map((name) => ({
  type: 'function' as const,
  name,
  parameters: { type: 'object', properties: {} },
  strict: false,
}));

describe.each(openaiLibraries)('$name', ({ OpenAI: Library }) => {
  describe.each(upstreams)('over a %s upstream', (upstream) => {
    let client: OpenAI;
    let model: string;

    beforeAll(() => {
      client = new Library({ baseURL: `${stage.system.baseUrl}/v1`, apiKey: stage.system.firstKey, maxRetries: 0 });
      model = stage.model(upstream);
    });

    it('reads a whole answer and a stream, and the usage that is charged', async () => {
      stage.play(upstream, { blocks: [textBlock], usage });
      const whole = await client.responses.create({ model, input: 'Hello there' });
      expect(whole).toMatchObject({ object: 'response', status: 'completed', model, output_text: text, store: true });
      expect(whole.usage).toEqual(shown(await stage.charge(whole._request_id)));

      const stream = client.responses.stream({ model, input: 'Hello there' });
      const deltas: string[] = [];
      stream.on('response.output_text.delta', ({ delta, snapshot }) => deltas.push(`${delta}|${snapshot.length}`));
      const final = await stream.finalResponse();
      expect(final).toMatchObject({ status: 'completed', output_text: text, usage: whole.usage });
      expect(deltas.at(-1)).toMatch(new RegExp(`\\|${text.length}$`));
    });

    it('parses an answer that follows a schema', async () => {
      const requests = stage.play(upstream, { blocks: [{ type: 'text', text: '{"city":"Paris"}' }] });
      const format = zodTextFormat(z.object({ city: z.string() }), 'place');
      const parsed = await client.responses.parse({ model, input: 'Where?', text: { format } });
      expect(parsed.output_parsed).toEqual({ city: 'Paris' });
      expect(JSON.stringify(requests()[0]!.body)).toContain('"city"');
    });

    it.each([false, true])('calls tools turn after turn and sends the reasoning back, streamed: %s', async (streams) => {
      const requests = stage.play(upstream, ...threeTurns);
      const run = new ToolRun();
      const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'Hello there' }];
      let answer: OpenAI.Responses.Response | undefined;
      for (let turn = 0; turn < 3; turn += 1) {
        const body = { model, input, tools: functions, reasoning: { effort: 'high' as const } };
        answer = streams ? await client.responses.stream(structuredClone(body)).finalResponse() : await client.responses.create(body);
        input.push(...(answer.output as OpenAI.Responses.ResponseInput));
        for (const item of answer.output) {
          if (item.type !== 'function_call') continue;
          const { city, zone } = JSON.parse(item.arguments) as { city: string; zone: string };
          input.push({
            type: 'function_call_output',
            call_id: item.call_id,
            output: item.name === 'get_time' ? run.time(zone) : run.weather(city),
          });
        }
      }
      expect(answer!.output_text).toBe(text);
      expect(run.asked).toEqual(['Paris', 'CET', 'Rome']);
      const third = requests()[2]!;
      expect(JSON.stringify(third.body)).toMatch(thirdRequest);
      if (upstream === 'messages') expect(firstThought(third)).toEqual(signedThoughts);
      else expect(JSON.stringify(third.body)).toContain(reasoning.text);
    });

    it('sends images and files', async () => {
      const requests = stage.play(upstream, { blocks: [textBlock] });
      await client.responses.create({
        model,
        input: [
          {
            role: 'user',
            content: [
              { type: 'input_text', text: 'Look' },
              { type: 'input_image', image_url: pngUrl, detail: 'auto' },
              { type: 'input_image', image_url: remotePicture, detail: 'auto' },
              { type: 'input_file', filename: 'a.pdf', file_data: pdfUrl },
            ],
          },
        ],
      });
      if (upstream === 'responses') expect(JSON.stringify(requests()[0]!.body)).toContain(pdfUrl);
      else expect(shownTo(upstream, requests()[0]!)).toHaveLength(3);
    });

    it('uses a custom tool, whose argument is free text', async () => {
      const patch = '*** Begin Patch\n"x"';
      const asFunction = { ...weatherCall, name: 'apply_patch', arguments: JSON.stringify({ input: patch }) };
      const asCustom = { ...asFunction, arguments: patch, custom: true };
      const requests = stage.play(upstream, { blocks: [upstream === 'responses' ? asCustom : asFunction] }, { blocks: [textBlock] });
      const tools = [
        {
          type: 'custom' as const,
          name: 'apply_patch',
          format: { type: 'grammar' as const, syntax: 'lark' as const, definition: 'start: "x"' },
        },
      ];
      const first = await client.responses.stream({ model, input: 'Edit', tools }).finalResponse();
      expect(first.output).toMatchObject([{ type: 'custom_tool_call', call_id: 'call_1', name: 'apply_patch', input: patch }]);
      const output = { type: 'custom_tool_call_output' as const, call_id: 'call_1', output: 'Done.' };
      await client.responses.create({
        model,
        tools,
        input: [{ role: 'user', content: 'Edit' }, ...(first.output as OpenAI.Responses.ResponseInput), output],
      });
      expect(JSON.stringify(requests()[1]!.body)).toMatch(/Begin Patch.*Done\./);
    });

    it('continues stored responses with tools, and the upstream gets the whole conversation', async () => {
      const requests = stage.play(upstream, ...threeTurns);
      const run = new ToolRun();
      let input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'Hello there' }];
      let answer: OpenAI.Responses.Response | undefined;
      for (let turn = 0; turn < 3; turn += 1) {
        const body = { model, input, tools: functions, reasoning: { effort: 'high' as const }, previous_response_id: answer?.id };
        answer = turn === 1 ? await client.responses.stream(body).finalResponse() : await client.responses.create(body);
        expect(answer).toMatchObject({ store: true, previous_response_id: body.previous_response_id ?? null });
        input = answer.output.flatMap((item) => {
          if (item.type !== 'function_call') return [];
          const { city, zone } = JSON.parse(item.arguments) as { city: string; zone: string };
          const output = item.name === 'get_time' ? run.time(zone) : run.weather(city);
          return [{ type: 'function_call_output' as const, call_id: item.call_id, output }];
        });
      }
      expect(answer!.output_text).toBe(text);
      const third = requests()[2]!;
      expect(JSON.stringify(third.body)).toMatch(thirdRequest);
      if (upstream === 'messages') expect(firstThought(third)).toEqual(signedThoughts);
      else expect(JSON.stringify(third.body)).toContain(reasoning.text);
      expect(third.body).not.toHaveProperty('previous_response_id');

      expect(await client.responses.retrieve(answer!.id)).toEqual(answer);
    });

    it('reads why a request was refused', async () => {
      const before = stage.stub.requests.length;
      await expect(client.responses.create({ model, input: 'Hi', previous_response_id: 'resp_1' })).rejects.toMatchObject({
        status: 400,
        code: 'previous_response_not_found',
        param: 'previous_response_id',
        message: expect.stringContaining('Send the whole conversation in input.'),
      });
      expect(stage.stub.requests).toHaveLength(before);
    });
  });
});

describe('the Agents SDK', () => {
  it.each(upstreams.flatMap((upstream) => [false, true].map((stream) => ({ upstream, stream }))))(
    'runs an agent with its tools over a $upstream upstream, streamed: $stream',
    async ({ upstream, stream }) => {
      const requests = stage.play(upstream, { blocks: [reasoning, weatherCall, timeCall], usage }, { blocks: [textBlock], usage });
      const run = new ToolRun();
      const agent = new Agent({
        name: 'Assistant',
        instructions: 'Be brief.',
        model: stage.model(upstream),
        tools: [
          tool({
            name: 'get_weather',
            description: '',
            parameters: z.object({ city: z.string() }),
            execute: async ({ city }) => run.weather(city),
          }),
          tool({
            name: 'get_time',
            description: '',
            parameters: z.object({ zone: z.string() }),
            execute: async ({ zone }) => run.time(zone),
          }),
        ],
      });
      const modelProvider = new OpenAIProvider({
        baseURL: `${stage.system.baseUrl}/v1`,
        apiKey: stage.system.firstKey,
        useResponses: true,
      });
      const runner = new Runner({ modelProvider });
      if (stream) {
        const result = await runner.run(agent, 'Hello there', { stream: true });
        for await (const _event of result);
        await result.completed;
        expect(result.finalOutput).toBe(text);
      } else expect((await runner.run(agent, 'Hello there')).finalOutput).toBe(text);
      expect(run.asked.toSorted()).toEqual(['CET', 'Paris']);
      expect(JSON.stringify(requests()[1]!.body)).toMatch(/Be brief\..*Sunny in Paris\./);
    },
  );
});

describe('the Agents SDK with previousResponseId', () => {
  it.each(upstreams)('continues a run over a %s upstream', async (upstream) => {
    const requests = stage.play(upstream, { blocks: [textBlock], usage });
    const agent = new Agent({ name: 'Assistant', instructions: 'Be brief.', model: stage.model(upstream) });
    const modelProvider = new OpenAIProvider({
      baseURL: `${stage.system.baseUrl}/v1`,
      apiKey: stage.system.firstKey,
      useResponses: true,
    });
    const runner = new Runner({ modelProvider });
    const first = await runner.run(agent, 'Hello there');
    const second = await runner.run(agent, 'And now?', { previousResponseId: first.lastResponseId! });
    expect(second.finalOutput).toBe(text);
    const sent = JSON.stringify(requests()[1]!.body);
    expect(sent).toContain(text);
    expect(sent).toMatch(/Hello there.*And now\?/);
    expect(sent.split('Be brief.')).toHaveLength(2);
  });
});

/** How many calls the agents made in the chat-completions format. */
let chatCalls = 0;

describe('the Agents SDK in the chat-completions format', () => {
  it.each(upstreams.flatMap((upstream) => [false, true].map((stream) => ({ upstream, stream }))))(
    'continues a conversation with text and tool calls over a $upstream upstream, streamed: $stream',
    async ({ upstream, stream }) => {
      const requests = stage.play(upstream, ...threeTurns);
      const run = new ToolRun();
      const tools = [
        tool({
          name: 'get_weather',
          description: '',
          parameters: z.object({ city: z.string() }),
          execute: ({ city }) => run.weather(city),
        }),
        tool({ name: 'get_time', description: '', parameters: z.object({ zone: z.string() }), execute: ({ zone }) => run.time(zone) }),
      ];
      const agent = new Agent({ name: 'Assistant', instructions: 'Be brief.', model: stage.model(upstream), tools });
      const modelProvider = new OpenAIProvider({
        baseURL: `${stage.system.baseUrl}/v1`,
        apiKey: stage.system.firstKey,
        useResponses: false,
      });
      const runner = new Runner({ modelProvider });
      const first = stream ? await runner.run(agent, 'Hello there', { stream: true }) : await runner.run(agent, 'Hello there');
      if ('completed' in first) await first.completed;
      const second = await runner.run(agent, [...first.history, { role: 'user', content: 'And now?' }]);
      expect([first.finalOutput, second.finalOutput]).toEqual([text, text]);
      expect(run.asked.toSorted()).toEqual(['CET', 'Paris', 'Rome']);
      const sent = JSON.stringify(requests()[3]!.body);
      expect(sent).toMatch(thirdRequest);
      expect(sent).toMatch(new RegExp(`${text}.*And now\\?`));
      chatCalls += requests().length;
    },
  );
});

describe('the Codex CLI', () => {
  const codex = join(root, '.toolchain/codex/bin/codex');

  /** Runs one task in a folder of its own, and returns what Codex printed last. */
  async function exec(model: string, task: string): Promise<string> {
    const home = join(stage.system.dataDir, 'codex');
    const folder = join(home, 'project');
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'notes.txt'), 'The secret word is pomegranate.\n');
    await writeFile(
      join(home, 'config.toml'),
      `model_provider = "tollgate"
[model_providers.tollgate]
name = "Tollgate"
base_url = "${stage.system.baseUrl}/v1"
env_key = "TOLLGATE_API_KEY"
wire_api = "responses"
`,
    );
    const env = { PATH: process.env['PATH'], HOME: home, CODEX_HOME: home, TOLLGATE_API_KEY: stage.system.firstKey };
    const running = promisify(execFile)(
      codex,
      ['exec', '-m', model, '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', '-C', folder, task],
      {
        env,
        timeout: 60_000,
      },
    );
    running.child.stdin!.end();
    return (await running).stdout;
  }

  it('reads a file with a tool and answers, over the sandbox', async () => {
    expect(await exec('sandbox/tool', 'cat notes.txt')).toContain('The secret word is pomegranate.');
  });

  it.each(upstreams)('reads a file with a tool and answers, over a %s upstream', async (upstream) => {
    const read = { ...weatherCall, name: 'exec_command', arguments: '{"cmd":"cat notes.txt"}' };
    const requests = stage.play(upstream, { blocks: [reasoning, read], usage }, { blocks: [textBlock], usage });
    expect(await exec(stage.model(upstream), 'What is the secret word?')).toContain(text);
    expect(JSON.stringify(requests()[1]!.body)).toContain('The secret word is pomegranate.');
  });
});

it('was charged according to the records, each call in its format', async () => {
  const { rows, balance } = await settled(stage.system, stage.accountId);
  expect(rows.length).toBeGreaterThan(30);
  expect(BigInt(balance.spent_nano_usd)).toBe(rows.reduce((sum, row) => sum + BigInt(row.charge_nano_usd), 0n));
  const [ofChat, ofResponses] = ['chat_completions', 'responses'].map((format) => rows.filter((row) => row.format === format).length);
  expect([ofChat, ofResponses]).toEqual([chatCalls, rows.length - chatCalls]);
});
