import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Event, StopReason } from '#proto/inference/v1/inference.js';
import { AppError } from '#client/errors/app-error.js';
import {
  answerContext,
  blockStart,
  blockStop,
  counts,
  delta,
  finished,
  foreign,
  reasoningBlock,
  redactedBlock,
  refusalBlock,
  started,
  textBlock,
  toolBlock,
  toolStart,
} from '../testing/events.js';
import { expectToMatch, framesOf, streamed } from '../testing/frames.js';
import { messages } from './index.js';
import { MessageStreamEvent } from './answer-schema.js';

type Data = { type: string; index?: number; [field: string]: unknown };

/** The events of an answer, each checked against the schema and its event line. */
function dataOf(...events: Event[]): Data[] {
  const outcome = events.at(-1)?.event?.$case === 'finished' ? [] : [finished()];
  return framesOf(streamed(messages, answerContext, [started], events, outcome)).map(({ event, data }) => {
    expectToMatch(MessageStreamEvent, data);
    expect((data as Data).type).toBe(event);
    return data as Data;
  });
}

/** Only what is between message_start and message_delta. */
const blocksOf = (...events: Event[]): Data[] => dataOf(...events).slice(1, -2);

describe('a messages stream', () => {
  it('refuses more ends than an answer can have', () => {
    const stream = messages.stream(answerContext);
    const ends = Array.from({ length: 128 }, () => foreign({ type: 'novel_end' }, true));
    stream.push([started, ...ends]);
    expect(() => stream.push([foreign({ type: 'novel_end' }, true)])).toThrow('too often');
  });

  it('keeps an end that only this format has until the call is on record', () => {
    const stream = messages.stream(answerContext);
    const before = stream.push([started, foreign({ type: 'novel' }), foreign({ type: 'novel_end' }, true), finished()]);
    expect(framesOf(before).map(({ event }) => event)).toEqual(['message_start', 'novel']);
    expect(framesOf(stream.finish(counts)).map(({ event }) => event)).toEqual(['novel_end', 'message_delta', 'message_stop']);
  });

  it('goes from message_start through the blocks to message_stop', () => {
    expect(dataOf(...textBlock(0, 'Hel', 'lo'))).toEqual([
      {
        type: 'message_start',
        message: expect.objectContaining({ id: 'msg_0199aaaabbbbccccddddeeeeffff0000', content: [], stop_reason: null }),
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '', citations: null } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hel' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'lo' } },
      { type: 'content_block_stop', index: 0 },
      {
        type: 'message_delta',
        delta: { stop_reason: 'end_turn', stop_sequence: null, stop_details: null },
        usage: {
          input_tokens: 100,
          cache_creation_input_tokens: 7,
          cache_read_input_tokens: 20,
          output_tokens: 50,
          output_tokens_details: { thinking_tokens: 12 },
          server_tool_use: null,
        },
      },
      { type: 'message_stop' },
    ]);
  });

  it('estimates the input at its start, for context meters (7.9 #8)', () => {
    expect(dataOf()[0]).toMatchObject({ message: { usage: { input_tokens: 17, output_tokens: 1 } } });
    const [counted] = framesOf(streamed(messages, { ...answerContext, inputEstimate: counts }, [started, finished()]));
    expect(counted!.data).toMatchObject({
      message: { usage: { input_tokens: 100, cache_read_input_tokens: 20, cache_creation_input_tokens: 7, output_tokens: 1 } },
    });
  });

  it('holds back the end until the usage is on record', () => {
    const encoder = messages.stream(answerContext);
    const before = encoder.push([started, ...textBlock(0, 'Hi'), finished(StopReason.STOP_REASON_STOP_SEQUENCE, 'END')]);
    expect(before).not.toMatch(/message_delta|message_stop/);
    expect(framesOf(encoder.finish(counts))).toMatchObject([
      { data: { delta: { stop_reason: 'stop_sequence', stop_sequence: 'END' } } },
      { event: 'message_stop' },
    ]);
  });

  it('sends the whole signature just before the thinking stops', () => {
    expect(blocksOf(...reasoningBlock(0, 'hmm', 'sig'))).toEqual([
      { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'hmm' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'sig' } },
      { type: 'content_block_stop', index: 0 },
    ]);
    expect(blocksOf(...reasoningBlock(0, '', 'sig')).map(({ type }) => type)).toEqual([
      'content_block_start',
      'content_block_delta',
      'content_block_stop',
    ]);
    expect(blocksOf(...redactedBlock(0, 'sealed'))[0]).toMatchObject({ content_block: { type: 'redacted_thinking', data: 'sealed' } });
  });

  it('numbers blocks itself and leaves out empty ones, without a gap (7.9 #9 and #17)', () => {
    const events = [...reasoningBlock(0, ''), ...textBlock(1, '', ''), ...refusalBlock(2, 'No.'), ...textBlock(5, 'Bye.')];
    expect(blocksOf(...events).map(({ type, index }) => `${index} ${type}`)).toEqual([
      '0 content_block_start',
      '0 content_block_delta',
      '0 content_block_stop',
      '1 content_block_start',
      '1 content_block_delta',
      '1 content_block_stop',
    ]);
  });

  it('writes interleaved parallel calls one after another, each under its own index (7.9 #10)', () => {
    const events = [
      toolStart(0, 'a', 'f'),
      toolStart(1, 'b', 'g'),
      toolStart(2, 'c', 'h'),
      delta(1, 'argumentsJson', '{"b":'),
      delta(0, 'argumentsJson', '{}'),
      delta(1, 'argumentsJson', '1}'),
      blockStop(1),
      blockStop(0),
      delta(2, 'argumentsJson', '{"c":1}'),
      blockStop(2),
    ];
    expect(blocksOf(...events)).toEqual([
      {
        type: 'content_block_start',
        index: 0,
        content_block: { type: 'tool_use', id: 'a', name: 'f', input: {}, caller: { type: 'direct' } },
      },
      { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{}' } },
      { type: 'content_block_stop', index: 0 },
      {
        type: 'content_block_start',
        index: 1,
        content_block: { type: 'tool_use', id: 'b', name: 'g', input: {}, caller: { type: 'direct' } },
      },
      { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{"b":1}' } },
      { type: 'content_block_stop', index: 1 },
      {
        type: 'content_block_start',
        index: 2,
        content_block: { type: 'tool_use', id: 'c', name: 'h', input: {}, caller: { type: 'direct' } },
      },
      { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '{"c":1}' } },
      { type: 'content_block_stop', index: 2 },
    ]);
  });

  it('sends content as it arrives, without waiting for the end', () => {
    const encoder = messages.stream(answerContext);
    encoder.push([started, blockStart(0, { $case: 'text', value: {} })]);
    expect(encoder.push([delta(0, 'text', 'now')])).toContain('"text":"now"');
  });

  it('closes blocks that the upstream left open at its end, and ignores deltas and stops that belong to no block', () => {
    const encoder = messages.stream(answerContext);
    const withoutBlock = [delta(9, 'text', 'of no block'), blockStop(9)];
    encoder.push([started, toolStart(0, 'a', 'f'), toolStart(1, 'b', 'g'), delta(1, 'argumentsJson', '{}'), ...withoutBlock, finished()]);
    const types = framesOf(encoder.finish(counts)).map(({ event }) => event);
    expect(types).toEqual([
      'content_block_stop',
      'content_block_start',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
  });

  it('reports an error as a separate event', () => {
    const [frame] = framesOf(messages.errorFrame(new AppError('upstream_overloaded', 'Busy.'), 'req_1'));
    expect(frame).toMatchObject({
      event: 'error',
      data: { type: 'error', error: { type: 'overloaded_error', message: 'Busy.' }, request_id: 'req_1' },
    });
  });

  it('is kept alive by pings', () => {
    expect(framesOf(messages.keepAlive)).toEqual([{ event: 'ping', data: { type: 'ping' } }]);
  });

  it('is never ended as complete if the upstream broke off', () => {
    const encoder = messages.stream(answerContext);
    encoder.push([started, ...textBlock(0, 'Hi')]);
    expect(() => encoder.finish(counts)).toThrow('finished');
  });

  it('is the same however the events are grouped', () => {
    const events = [
      started,
      ...reasoningBlock(0, 'hm', 's'),
      ...textBlock(1, 'a', '\u2028"\\', 'b'),
      toolStart(2, 'a', 'f'),
      ...toolBlock(3, 'b', 'g', '{', '}'),
      blockStop(2),
      finished(),
    ];
    const whole = streamed(messages, answerContext, events);
    fc.assert(
      fc.property(fc.array(fc.nat(events.length)), (cuts) => {
        const bounds = [0, ...cuts.sort((left, right) => left - right), events.length];
        const groups = bounds.slice(1).map((end, index) => events.slice(bounds[index], end));
        expect(streamed(messages, answerContext, ...groups)).toBe(whole);
      }),
    );
  });
});
