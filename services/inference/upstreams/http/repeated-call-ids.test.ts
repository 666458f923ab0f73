import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { callContext } from '#client/call-context.js';
import { ApiFormat, Role } from '#proto/inference/v1/inference.js';
import { messagesToolId } from '#rules/wire/tool-ids.js';
import { close, listen } from '#kit/testing/local-server.js';
import { collect, eventsOf, localUpstream, startInference, type TestInference, textRequest } from '../../testing/fixtures.js';

const id = 'list_dir:0';
const call = { name: 'list_dir', arguments: '{}' };

/** A whole answer with a call, in each format. */
const answers = {
  '/v1/chat/completions': {
    choices: [{ index: 0, message: { tool_calls: [{ id, type: 'function', function: call }] }, finish_reason: 'tool_calls' }],
  },
  '/v1/messages': {
    type: 'message',
    content: [{ type: 'tool_use', id, name: 'list_dir', input: {} }],
    stop_reason: 'tool_use',
  },
  '/v1/responses': {
    object: 'response',
    status: 'completed',
    output: [{ id: 'fc_1', type: 'function_call', call_id: id, ...call }],
  },
};

describe('the id of a tool call that the upstream uses in each of its answers', () => {
  let server: Server;
  let inference: TestInference;

  beforeAll(async () => {
    server = createServer((request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answers[request.url as keyof typeof answers]));
    });
    inference = await startInference();
    const baseUrl = `http://127.0.0.1:${await listen(server)}/v1`;
    for (const apiFormat of formats) {
      const upstream = localUpstream(baseUrl, { id: `u${apiFormat}`, apiFormat });
      await inference.service.putUpstream({ upstream }, callContext({ caller: 'operator' }));
    }
  });

  afterAll(async () => {
    await inference.stop();
    await close(server);
  });

  const formats = [ApiFormat.API_FORMAT_CHAT_COMPLETIONS, ApiFormat.API_FORMAT_MESSAGES, ApiFormat.API_FORMAT_RESPONSES];

  const user = { role: Role.ROLE_USER, parts: [{ part: { $case: 'text' as const, value: { text: 'Look' } } }] };

  /** Returns the id that the caller reads after a conversation with calls of these ids. */
  async function idAfter(apiFormat: ApiFormat, earlier: readonly string[]): Promise<string | undefined> {
    const messages = earlier.flatMap((toolCallId) => [
      {
        role: Role.ROLE_ASSISTANT,
        parts: [{ part: { $case: 'toolCall' as const, value: { id: toolCallId, name: 'list_dir', argumentsJson: '{}' } } }],
      },
      { role: Role.ROLE_USER, parts: [{ part: { $case: 'toolResult' as const, value: { toolCallId, text: 'a.txt' } } }] },
    ]);
    const request = textRequest('Look', {
      targets: [{ upstreamId: `u${apiFormat}`, upstreamModel: 'm' }],
      prompt: { messages: [user, ...messages], tools: [{ name: 'list_dir' }] },
    });
    const blocks = eventsOf(await collect(inference.service, request)).map((event) =>
      event.$case === 'blockStart' ? event.value.block : undefined,
    );
    return blocks.find((block) => block?.$case === 'toolCall')?.value.id;
  }

  it.each(formats)('is changed only where the conversation has it, over format %s', async (apiFormat) => {
    expect(await idAfter(apiFormat, [])).toBe(id);
    expect(await idAfter(apiFormat, ['other'])).toBe(id);
    expect(await idAfter(apiFormat, [id])).toBe('list_dir:0_2');
    expect(await idAfter(apiFormat, [id, 'list_dir:0_2'])).toBe('list_dir:0_3');
    expect(await idAfter(apiFormat, [messagesToolId(id)])).toBe('list_dir:0_2');
  });
});
