// What the models of the client tests answer.
import type { Block, Script, Usage } from '../upstream/script.js';

export const text = 'Hello from far away.';
export const textBlock = { type: 'text', text } as const satisfies Block;
export const reasoning = { type: 'reasoning', text: 'Let me think about it.', signature: 'c2lnbmF0dXJl' } as const satisfies Block;
export const weatherCall = { type: 'tool_call', id: 'call_1', name: 'get_weather', arguments: '{"city":"Paris"}' } as const satisfies Block;
export const timeCall = { type: 'tool_call', id: 'call_2', name: 'get_time', arguments: '{"zone":"CET"}' } as const satisfies Block;

/** Figures small enough for a prompt of two words, and different in every class. */
export const usage: Usage = { input: 3, cacheRead: 4, cacheWrite5m: 2, output: 9, reasoning: 1 };

/** Two tools at once after some thought, then another one beside text, then the answer. */
export const threeTurns: readonly Script[] = [
  { blocks: [reasoning, weatherCall, timeCall], interleaveToolCalls: true },
  {
    blocks: [
      { type: 'text', text: 'One more.' },
      { ...weatherCall, id: 'call_3', arguments: '{"city":"Rome"}' },
    ],
  },
  { blocks: [textBlock] },
];

/** What the third request of `threeTurns` says, whatever its format, when the tools answer as `toolRun` has them. */
export const thirdRequest = /call_1.*call_2.*Sunny in Paris\..*Noon in CET\..*One more\..*call_3.*Sunny in Rome\./;

/** Its thoughts, as a vendor that has signed them must find them again. */
export const signedThoughts = { type: 'thinking', thinking: reasoning.text, signature: reasoning.signature };

/** The same of a responses vendor that has encrypted them, under the id of their item. */
export const encryptedThoughts = {
  type: 'reasoning',
  id: 'rs_0',
  summary: [{ type: 'summary_text', text: reasoning.text }],
  encrypted_content: reasoning.signature,
};

/** The tools of `threeTurns`, and the arguments that they were run with. */
export class ToolRun {
  readonly asked: string[] = [];

  weather(city: string): string {
    this.asked.push(city);
    return `Sunny in ${city}.`;
  }

  time(zone: string): string {
    this.asked.push(zone);
    return `Noon in ${zone}.`;
  }
}
