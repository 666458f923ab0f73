// Whole numbers beyond 2⁵³ in the arguments of tools, such as ids of chat messages, keep their digits on every way.
import { describe, expect, it } from '@jest/globals';
import { parseExactly } from '#rules/wire/exact-json.js';
import type { WireName } from '../conformance/support/paths.js';
import { commonCall, ways, wires } from './ways.js';

const id = '1199137541837586493';
const schema = '{"type":"object","properties":{"channel_id":{"type":"integer","maximum":9223372036854775807}}}';
const argumentsJson = `{"channel_id":${id},"nested":[{"id":-${id}}]}`;

/** Bodies with a past call of a tool, as JSON texts. */
const bodies: Readonly<Record<WireName, string>> = {
  'chat-completions': `{"model":"m","tools":[{"type":"function","function":{"name":"send","parameters":${schema}}}],"messages":[
    {"role":"user","content":"Send it."},
    {"role":"assistant","tool_calls":[{"id":"call_1","type":"function","function":{"name":"send","arguments":${JSON.stringify(argumentsJson)}}}]},
    {"role":"tool","tool_call_id":"call_1","content":"Sent."}]}`,
  messages: `{"model":"m","max_tokens":100,"tools":[{"name":"send","input_schema":${schema}}],"messages":[
    {"role":"user","content":"Send it."},
    {"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"send","input":${argumentsJson}}]},
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"Sent."}]}]}`,
  responses: `{"model":"m","tools":[{"type":"function","name":"send","parameters":${schema}}],"input":[
    {"role":"user","content":"Send it."},
    {"type":"function_call","call_id":"call_1","name":"send","arguments":${JSON.stringify(argumentsJson)}},
    {"type":"function_call_output","call_id":"call_1","output":"Sent."}]}`,
};

describe.each(ways)('a past call of a tool from %s to %s', (client, upstream) => {
  it('keeps the digits of its arguments', () => {
    const { json } = wires[upstream].generateBody(commonCall(client, parseExactly(bodies[client])), 'm');
    expect(json.replaceAll('\\"', '"')).toContain(argumentsJson);
  });
});

it.each(Object.keys(bodies) as WireName[])('a schema keeps its digits at an upstream of its own format, %s', (client) => {
  const { json } = wires[client].generateBody(commonCall(client, parseExactly(bodies[client])), 'm');
  expect(json).toContain(schema);
});
