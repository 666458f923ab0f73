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

  it('keeps everything else, and other roles keep all fields', () => {
    const messages = [
      { role: 'user', content: 'Hi', parsed: 1, name: null },
      { role: 'assistant', content: 'Hi', audio: { id: 'audio_1' }, name: 'ann', refusal: 'No.' },
    ];
    expect(withoutLeftovers(messages)).toEqual(messages);
    expect(withoutLeftovers(messages)[1]).toBe(messages[1]);
  });
});
