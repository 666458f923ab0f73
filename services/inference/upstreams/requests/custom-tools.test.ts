import { expect, test } from '@jest/globals';
import { BlockWriter } from '../answers/block-writer.js';
import { callArgumentsJson, customToolInput, toolDescription } from './custom-tools.js';

test('the free text of a custom tool survives the conversion to a function, even when it is cut off', () => {
  const text = '*** Begin Patch\n"x" \\ é';
  expect(customToolInput(callArgumentsJson({ argumentsJson: text, isCustom: true }))).toBe(text);
  expect(customToolInput('{"input":"*** Beg')).toBe('*** Beg');
  expect(customToolInput('"plain"')).toBe('plain');
  expect(customToolInput('{"patch":1}')).toBe('{"patch":1}');
});

test('the model reads the grammar of a custom tool', () => {
  const tool = { name: 'patch', description: 'Edits files.', parametersJson: '', custom: { grammarSyntax: 'lark', grammar: 'start: "x"' } };
  expect(toolDescription(tool)).toBe('Edits files.\n\nThe parameter "input" must match this lark grammar:\nstart: "x"');
});

test('a call of a custom tool is written with its text, and other calls as they arrive', () => {
  const writer = new BlockWriter({ upstreamId: 'u', upstreamModel: 'm' }, [], new Set(['patch']));
  for (const name of ['patch', 'f']) {
    writer.open({ $case: 'toolCall', value: { id: name, name } });
    writer.delta({ $case: 'argumentsJson', value: '{"input"' });
    writer.delta({ $case: 'argumentsJson', value: ':"a"}' });
  }
  writer.close();
  const written = writer.take().map(({ event }) => (event?.$case === 'blockDelta' ? event.value.delta?.value : event?.value));
  expect(written).toEqual([
    { index: 0, block: { $case: 'toolCall', value: { id: 'patch', name: 'patch', isCustom: true } } },
    'a',
    { index: 0 },
    { index: 1, block: { $case: 'toolCall', value: { id: 'f', name: 'f' } } },
    '{"input"',
    ':"a"}',
    { index: 1 },
  ]);
});
