// The readers of all formats, by their names.
import type { Frame } from '../../../gateway/formats/testing/frames.js';
import type { Json } from '../../upstream/checks/check.js';
import type { WireName } from './paths.js';
import { seenInChunks, seenInCompletion } from './read-chat-completions.js';
import { seenInEvents, seenInMessage } from './read-messages.js';
import { seenInResponse, seenInResponseEvents } from './read-responses.js';
import type { Seen } from './seen.js';

/** Reads a whole answer. */
export const seenInWhole: Readonly<Record<WireName, (body: Json) => Seen>> = {
  'chat-completions': seenInCompletion,
  messages: seenInMessage,
  responses: seenInResponse,
};

/** Reads a streamed answer; a caller of chat-completions may want its usage. */
export const seenInStream: Readonly<Record<WireName, (frames: readonly Frame[], wantsUsage: boolean) => Seen>> = {
  'chat-completions': seenInChunks,
  messages: seenInEvents,
  responses: seenInResponseEvents,
};
