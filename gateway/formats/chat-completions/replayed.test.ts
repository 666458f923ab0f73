import { describe, expect, it } from '@jest/globals';
import { withoutLeftovers } from './replayed.js';

describe('an answer that is replayed as history', () => {
  it('loses fields that its library added and fields that only answers have', () => {
    const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } };
    const answer = { role: 'assistant', content: null, reasoning_content: 'r', invented: 1, tool_calls: [call] };
    const replayed = {
      ...answer,
      parsed: null,
      refusal: null,
      annotations: [],
      audio: null,
      function_call: null,
      tool_calls: [{ ...call, index: 0, function: { ...call.function, parsed_arguments: { a: 1 } } }],
    };
    expect(withoutLeftovers([replayed])).toEqual([answer]);
    expect(withoutLeftovers([{ role: 'assistant', content: 'Hi', tool_calls: null, name: null }])).toEqual([
      { role: 'assistant', content: 'Hi' },
    ]);
  });

  it('loses fields of the message that its library copied into a part', () => {
    const copied = { role: 'assistant', annotations: [], reasoning_content: 'r', tool_calls: [{ id: 'call_1' }] };
    const message = {
      role: 'assistant',
      content: [
        { type: 'text', text: 'Hi', ...copied, refusal: null, cache_control: { type: 'ephemeral' } },
        { type: 'refusal', refusal: 'No.', ...copied, content: null },
        { type: 'thinking', thinking: [], role: 'assistant' },
      ],
    };
    expect(withoutLeftovers([message])).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'Hi', cache_control: { type: 'ephemeral' } },
          { type: 'refusal', refusal: 'No.' },
          { type: 'thinking', thinking: [], role: 'assistant' },
        ],
      },
    ]);
  });

  it('keeps everything else, and other roles keep all fields', () => {
    const messages = [
      { role: 'user', content: 'Hi', parsed: 1, name: null },
      { role: 'assistant', content: 'Hi', audio: { id: 'audio_1' }, name: 'ann', refusal: 'No.' },
      { role: 'assistant', content: [{ type: 'text', text: 'Hi', invented: 1 }] },
    ];
    expect(withoutLeftovers(messages)).toBe(messages);
  });
});
