// The reasoning and sampling fields that are sent to models of different generations.
import { describe, expect, it } from '@jest/globals';
import { ToolChoice_Mode } from '#proto/inference/v1/inference.js';
import {
  acceptedBody,
  assistant,
  call,
  hi,
  type PartialRequest,
  result,
  says,
  sentBody,
  thought,
  tools,
  user,
} from '../../testing/messages-bodies.js';

describe('reasoning', () => {
  const named = { tools, toolChoice: { mode: ToolChoice_Mode.MODE_NAMED, name: 'f' } };
  const plan = (model: string, reasoning: object, rest: PartialRequest = {}) => {
    const { body, dropped } = acceptedBody({ ...rest, reasoning, prompt: { messages: [hi], ...rest.prompt } }, model);
    return { thinking: body['thinking'], output_config: body['output_config'], tool_choice: body['tool_choice'], dropped };
  };
  const nothing = { thinking: undefined, output_config: undefined, tool_choice: undefined, dropped: [] };

  it.each<[string, object, object]>([
    ['claude-sonnet-4-5-20250929', { effort: 'medium' }, { thinking: { type: 'enabled', budget_tokens: 4000 } }],
    ['claude-sonnet-4-5', { effort: 'minimal' }, {}],
    ['claude-haiku-4-5', { effort: 'none' }, {}],
    ['claude-3-5-sonnet-20241022', { effort: 'high' }, { dropped: ['output_config.effort'] }],
    ['claude-opus-4-6', { effort: 'xhigh' }, { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } }],
    ['claude-opus-4-6', { budgetTokens: 2000 }, { thinking: { type: 'enabled', budget_tokens: 2000 } }],
    ['anthropic/claude-4.7-opus', { effort: 'xhigh' }, { thinking: { type: 'adaptive' }, output_config: { effort: 'xhigh' } }],
    ['claude-opus-4-8', { budgetTokens: 5000 }, { thinking: { type: 'adaptive' }, output_config: { effort: 'medium' } }],
    ['claude-sonnet-5-5', { effort: 'minimal' }, { output_config: { effort: 'low' } }],
    ['claude-sonnet-5-5', { disabled: true, effort: 'high' }, { thinking: { type: 'disabled' } }],
    ['claude-opus-4-20250514', { effort: 'low' }, { thinking: { type: 'enabled', budget_tokens: 1024 } }],
    ['deepseek-reasoner', { effort: 'max' }, { output_config: { effort: 'max' } }],
  ])('of %s, requested as %j', (model, reasoning, expected) => {
    expect(plan(model, reasoning)).toEqual({ ...nothing, ...expected });
  });

  it('that was only requested as an effort is dropped for a forced tool', () => {
    const choice = { tool_choice: { type: 'tool', name: 'f' } };
    expect(plan('claude-sonnet-4-5', { effort: 'high' }, { prompt: named })).toEqual({
      ...nothing,
      ...choice,
      dropped: ['output_config.effort'],
    });
    expect(plan('claude-opus-5', { effort: 'high' }, { prompt: named })).toEqual({
      ...nothing,
      ...choice,
      output_config: { effort: 'high' },
    });
  });

  it('with a budget set by the caller makes a forced tool optional, which is reported to the caller', () => {
    const budget = { thinking: { type: 'enabled', budget_tokens: 2000 } };
    expect(plan('claude-sonnet-4-5', { budgetTokens: 2000 }, { prompt: named })).toEqual({
      ...nothing,
      ...budget,
      tool_choice: { type: 'auto' },
      dropped: ['tool_choice'],
    });
  });

  it('leaves room for the answer, or is left out', () => {
    expect(plan('claude-sonnet-4-5', { effort: 'high' }, { maxOutputTokens: 3000 }).thinking).toEqual({
      type: 'enabled',
      budget_tokens: 1500,
    });
    expect(plan('claude-sonnet-4-5', { effort: 'high' }, { maxOutputTokens: 1500 })).toEqual({
      ...nothing,
      dropped: ['output_config.effort'],
    });
  });

  it('is left out in a turn with tool calls whose reasoning the caller did not keep', () => {
    const messages = [hi, says(assistant, call('a')), says(user, result('a'))];
    expect(plan('claude-sonnet-4-5', { effort: 'high' }, { prompt: { messages, tools } })).toEqual({
      ...nothing,
      dropped: ['output_config.effort'],
    });
    const kept = [hi, says(assistant, thought('sig'), call('a')), says(user, result('a'))];
    expect(plan('claude-sonnet-4-5', { effort: 'high' }, { prompt: { messages: kept, tools } }).thinking).toEqual({
      type: 'enabled',
      budget_tokens: 4000,
    });
  });
});

describe('sampling', () => {
  const sampled = (model: string, sampling: object, rest: PartialRequest = {}) => {
    const { body, dropped } = sentBody({ ...rest, sampling, prompt: { messages: [hi] } }, model);
    return { temperature: body['temperature'], top_p: body['top_p'], top_k: body['top_k'], dropped };
  };
  const none = { temperature: undefined, top_p: undefined, top_k: undefined, dropped: [] };

  it.each<[string, object, object, PartialRequest?]>([
    ['m', { temperature: 1.7, topP: 0.9, topK: 5 }, { temperature: 1, top_p: 0.9, top_k: 5 }],
    ['claude-sonnet-4-5', { temperature: 0.2, topP: 0.9 }, { temperature: 0.2, dropped: ['top_p'] }],
    ['claude-opus-4-7', { temperature: 0.2, topP: 0.9, topK: 5 }, { dropped: ['temperature', 'top_p', 'top_k'] }],
    ['claude-opus-5-5', { temperature: 1, topP: 1 }, {}],
    ['claude-sonnet-4-5', { temperature: 0.2, topK: 5 }, { dropped: ['temperature', 'top_k'] }, { reasoning: { effort: 'high' } }],
    ['m', { seed: 7n, frequencyPenalty: 0, presencePenalty: 1 }, { dropped: ['seed', 'presence_penalty'] }],
  ])('of %s, requested as %j', (model, sampling, expected, rest = {}) => {
    expect(sampled(model, sampling, rest)).toEqual({ ...none, ...expected });
  });
});
