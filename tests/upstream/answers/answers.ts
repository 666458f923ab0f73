// The encoders of all formats, by their names.
import { completionBody, completionErrorFrame, completionFrames } from './chat-completions.js';
import type { Json } from '../checks/check.js';
import { messageBody, messageErrorFrame, messageFrames } from './messages.js';
import { responseBody, responseErrorFrame, responseFrames } from './responses.js';
import type { Script } from '../script.js';

/** The formats, of callers and upstreams alike. */
export type WireName = 'chat-completions' | 'messages' | 'responses';

/** How a format writes the answer of a script to a request. */
export interface Answers {
  whole(script: Script, request: Json): Json;
  frames(script: Script, request: Json): string[];
  errorFrame(error: unknown): string;
}

/** The encoders. */
export const answersIn: Readonly<Record<WireName, Answers>> = {
  'chat-completions': { whole: completionBody, frames: completionFrames, errorFrame: completionErrorFrame },
  messages: { whole: messageBody, frames: messageFrames, errorFrame: messageErrorFrame },
  responses: { whole: responseBody, frames: responseFrames, errorFrame: responseErrorFrame },
};
