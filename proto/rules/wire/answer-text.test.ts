import { expect, it } from '@jest/globals';
import type { Event } from '#proto/inference/v1/inference.js';
import { AnswerText, exactCharsMax } from './answer-text.js';

const delta = (value: string, index = 0): Event => ({
  event: { $case: 'blockDelta', value: { index, delta: { $case: 'text', value } } },
});
const blockStart = (index: number, $case: 'text' | 'reasoning'): Event => ({
  event: {
    $case: 'blockStart',
    value: { index, block: $case === 'reasoning' ? { $case, value: { redactedData: '' } } : { $case, value: {} } },
  },
});

it('collects the whole text in order, in however many events it arrives', () => {
  const words = Array.from({ length: 1000 }, (_, index) => `${index} `);
  const answer = new AnswerText();
  answer.add([blockStart(0, 'reasoning')]);
  for (const word of words) answer.add([delta(word)]);
  answer.add([blockStart(1, 'text')]);
  for (const word of words) answer.add([delta(word, 1), delta('', 1)]);
  answer.add([{ event: { $case: 'foreign', value: { json: '{}', countedText: 'other', isEnd: false } } }]);
  const all = words.join('');
  expect(answer.counted(7)).toEqual({
    text: all,
    reasoning: all,
    otherChoices: 'other',
    bytesBeyond: 0,
    contentEvents: 2001,
    tokensMax: 7,
  });
});

it('keeps a bounded amount of text, and the length of the rest', () => {
  const answer = new AnswerText();
  const received: number[] = [];
  const measured = new AnswerText((text) => received.push(text.length));
  for (const each of [answer, measured]) each.add([delta('x'.repeat(exactCharsMax - 1)), delta('ü'), delta('üü')]);
  expect(answer.counted(1)).toMatchObject({ bytesBeyond: 4, contentEvents: 3 });
  expect(answer.counted(1).text).toHaveLength(exactCharsMax);
  expect(received).toEqual([exactCharsMax - 1, 1, 2]);
});

it('counts only the model’s own words in deltas without a common form', () => {
  const answer = new AnswerText();
  const place = { item_id: 'ci_1', output_index: 0 };
  for (const value of [
    { type: 'response.web_search_call.searching', ...place },
    { type: 'response.output_text.annotation.added', ...place, annotation: { type: 'url_citation', url: 'https://a.example' } },
    { type: 'response.code_interpreter_call_code.delta', ...place, delta: 'print(1)' },
    { type: 'response.code_interpreter_call_code.done', ...place, code: 'print(1)' },
    { type: 'citations_delta', citation: { cited_text: 'quoted' } },
    { type: 'vendor_delta', note: ' # one', signature: 'sig' },
  ])
    answer.add([{ event: { $case: 'blockDelta', value: { index: 0, delta: { $case: 'foreignJson', value: JSON.stringify(value) } } } }]);
  expect(answer.counted(100)).toMatchObject({ text: 'print(1) # one', contentEvents: 2 });
});
