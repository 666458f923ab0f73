// The frames of a streamed answer, read by the rules of server-sent events.
import { createParser } from 'eventsource-parser';

/** One server-sent event. */
export interface Frame {
  /** The event line; undefined when there is none. */
  readonly event: string | undefined;
  /** The data: parsed JSON, or the text of the terminator. */
  readonly data: unknown;
}

/** The frames in a text. */
export function framesIn(text: string): Frame[] {
  const frames: Frame[] = [];
  const parser = createParser({
    onEvent: ({ event, data }) => void frames.push({ event, data: data === '[DONE]' ? data : (JSON.parse(data) as unknown) }),
  });
  parser.feed(text);
  return frames;
}
