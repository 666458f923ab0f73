// The answers of the models in the client tests.
import type { Block, Script, Usage } from '../upstream/script.js';

export const text = 'Hello from far away.';
export const textBlock = { type: 'text', text } as const satisfies Block;
export const reasoning = { type: 'reasoning', text: 'Let me think about it.', signature: 'c2lnbmF0dXJl' } as const satisfies Block;
export const weatherCall = { type: 'tool_call', id: 'call_1', name: 'get_weather', arguments: '{"city":"Paris"}' } as const satisfies Block;
export const timeCall = { type: 'tool_call', id: 'call_2', name: 'get_time', arguments: '{"zone":"CET"}' } as const satisfies Block;

/** Figures that are plausible for a prompt of two words, and different in every class. */
export const usage: Usage = { input: 3, cacheRead: 4, cacheWrite5m: 2, output: 9, reasoning: 1 };

/** Two parallel tool calls after some reasoning, then another call next to text, then the answer. */
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

/** The contents of the third request of `threeTurns`, in any format, when the tools return the results of `toolRun`. */
export const thirdRequest = /call_1.*call_2.*Sunny in Paris\..*Noon in CET\..*One more\..*call_3.*Sunny in Rome\./;

/** Its reasoning, in the form in which a vendor that signed it must receive it again. */
export const signedThoughts = { type: 'thinking', thinking: reasoning.text, signature: reasoning.signature };

/** The same for a responses vendor that encrypted the reasoning, under the id of its item. */
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
