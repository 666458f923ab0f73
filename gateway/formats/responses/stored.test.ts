import { describe, expect, it } from '@jest/globals';
import type { StoredInput } from '../format.js';
import { parseInputTokens, parseResponses } from './request.js';
import { itemsOf, listedItems, referencesOf } from './stored.js';

const nothing: StoredInput = { previousIds: [], continued: [], items: new Map() };
const user = (content: string): object => ({ role: 'user', content });
const answer = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'Hello.' }] };
const call = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'f', arguments: '{}', status: 'completed' };
const result = { type: 'function_call_output', call_id: 'call_1', output: 'Done.' };
const reference = (id: string): object => ({ type: 'item_reference', id });
const before: StoredInput = {
  previousIds: ['resp_1'],
  continued: itemsOf({ response: { output: [answer] }, input: [{ role: 'user', content: 'Hi' }], previousIds: [] }),
  items: new Map(),
};

/** Returns the prompt and the body for upstreams of this format. */
function parse(body: object, stored: StoredInput | undefined = nothing) {
  const parsed = parseResponses({ model: 'm', ...body }, { stored });
  return { ...parsed, prompt: parsed.request.prompt!, native: JSON.parse(parsed.request.native!.fieldsJson) as Record<string, unknown> };
}
const failure = (run: () => unknown): unknown => {
  try {
    run();
  } catch (error) {
    return error;
  }
  throw new Error('Nothing was raised.');
};

describe('the references of a body', () => {
  it('are its previous response and items, whatever else is wrong with it', () => {
    expect(referencesOf({ previous_response_id: 'resp_1', input: ['x', reference('msg_1'), null, { type: 'item_reference' }] })).toEqual({
      previousId: 'resp_1',
      itemIds: ['msg_1'],
    });
    for (const body of [undefined, 'x', {}, { previous_response_id: 1, input: 'x' }])
      expect(referencesOf(body)).toEqual({ previousId: undefined, itemIds: [] });
  });
});

describe('a body that continues a response', () => {
  it('has its items before its own, in the prompt, its bound and the body for upstreams, which never see the reference', () => {
    const whole = parse({ input: [user('Hi'), answer, user('Go on.')], instructions: 'Be brief.', store: false });
    const continued = parse({ input: 'Go on.', instructions: 'Be brief.', previous_response_id: 'resp_1', store: false }, before);
    expect(continued.prompt).toEqual(whole.prompt);
    expect(continued.inputTokensMax).toBe(whole.inputTokensMax);
    expect(continued.native).toEqual({
      instructions: 'Be brief.',
      input: [user('Hi'), answer, { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Go on.' }] }],
    });
    expect(continued.echo!.fields).toMatchObject({ previous_response_id: 'resp_1', store: false });
  });

  it('is stored with its own input and the ids of those before it', () => {
    const { storable, echo } = parse({ input: [user('Go on.')], previous_response_id: 'resp_1' }, before);
    expect(storable).toEqual({ input: [user('Go on.')], previousIds: ['resp_1'] });
    expect(echo!.fields['store']).toBe(true);
    expect(parse({ input: 'Hi', store: false }).storable).toBeUndefined();
  });

  it('may answer the calls of that response, and must', () => {
    const calling = { ...before, continued: [user('Hi') as Record<string, unknown>, call] };
    expect(parse({ input: [result], previous_response_id: 'resp_1' }, calling).prompt.messages).toHaveLength(3);
    expect(failure(() => parse({ input: [user('Well?')], previous_response_id: 'resp_1' }, calling))).toMatchObject({
      reason: 'invalid_request',
      details: { field: 'previous_response_id' },
    });
  });

  it('is refused with the paths that its caller wrote', () => {
    const fields = [{ input: [user('Hi'), { ...result, call_id: 'x' }] }, { input: [user('Hi'), { role: 'user' }] }].map(
      (body) => (failure(() => parse({ ...body, previous_response_id: 'resp_1' }, before)) as { details: { field: string } }).details.field,
    );
    expect(fields).toEqual(['input[1].call_id', 'input[1].content']);
  });

  it('is counted with the items before its own', () => {
    const body = { model: 'm', input: 'Go on.', previous_response_id: 'resp_1' };
    expect(parseInputTokens(body, { stored: before }).request.prompt.messages).toHaveLength(3);
  });
});

describe('a reference to an item', () => {
  const items = new Map<string, Record<string, unknown>>([
    ['msg_1', answer],
    ['fc_1', call],
  ]);

  it('is replaced by the item, once', () => {
    const input = [user('Hi'), reference('fc_1'), result, reference('msg_1'), reference('fc_1'), user('Go on.')];
    const parsed = parse({ input }, { ...nothing, items });
    expect(parsed.native['input']).toEqual([user('Hi'), call, result, answer, user('Go on.')]);
    expect(parsed.storable!.input).toEqual(parsed.native['input']);
    expect(parsed.prompt.messages.map(({ parts }) => parts.length)).toEqual([1, 1, 1, 1, 1]);
  });

  it('is refused with 404 if it is not stored, as the vendor does', () => {
    expect(failure(() => parse({ input: [user('Hi'), reference('msg_2')] }, { ...nothing, items }))).toMatchObject({
      reason: 'not_found',
      message: expect.stringContaining("input[1]: Item with id 'msg_2' not found"),
      details: { field: 'input' },
    });
  });
});

describe('where nothing is stored', () => {
  it('the answer says so, and references are refused with what to send instead', () => {
    const { storable, echo } = parseResponses({ model: 'm', input: 'Hi', store: true });
    expect([storable, echo!.fields['store']]).toEqual([undefined, false]);
    for (const [body, field] of [
      [{ input: 'Hi', previous_response_id: 'resp_1' }, 'previous_response_id'],
      [{ input: [reference('msg_1')] }, 'input[0].type'],
    ] as const)
      expect(failure(() => parseResponses({ model: 'm', ...body }))).toMatchObject({ reason: 'unsupported_field', details: { field } });
  });
});

it('input items are listed with ids and parts', () => {
  expect(listedItems('resp_7', [{ role: 'user', content: 'Hi' }, answer, { role: 'assistant', content: 'Yes.' }, result])).toEqual([
    { id: 'msg_7_in0', type: 'message', status: 'completed', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] },
    answer,
    { id: 'msg_7_in2', type: 'message', status: 'completed', role: 'assistant', content: [{ type: 'output_text', text: 'Yes.' }] },
    { id: 'msg_7_in3', ...result },
  ]);
});
