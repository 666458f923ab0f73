// Parses the text of server-sent events strictly, to check the framing itself.
import { isObject, type JsonObject } from '../rest.js';

/** One frame. */
export interface RawFrame {
  /** The event line; undefined if there is none. */
  readonly event: string | undefined;
  /** The data line. */
  readonly data: string;
}

/** Returns the frames of a text and what is wrong with its framing. Comments are skipped. */
export function rawFramesOf(text: string): { frames: RawFrame[]; faults: string[] } {
  const faults: string[] = [];
  if (text !== '' && !text.endsWith('\n\n')) faults.push('the last frame is not closed by an empty line');
  if (text.includes('\r')) faults.push('a line ends with a carriage return');
  const frames = text.split('\n\n').flatMap((part): RawFrame[] => {
    const lines = part.split('\n').filter((line) => line !== '' && !line.startsWith(':'));
    if (lines.length === 0) return [];
    const events = lines.filter((line) => line.startsWith('event: '));
    const data = lines.filter((line) => line.startsWith('data: '));
    if (events.length + data.length !== lines.length || events.length > 1 || data.length !== 1)
      faults.push(`a frame is not one event line and one data line: ${JSON.stringify(part.slice(0, 200))}`);
    return [{ event: events[0]?.slice('event: '.length), data: data[0]?.slice('data: '.length) ?? '' }];
  });
  return { frames, faults };
}

/** Passes the events of a stream that names each by its type to a check. Returns what is wrong with them, one line each. */
export function eventFaults(text: string, checkOf: (faults: string[]) => { take(event: JsonObject): void; end(): void }): string[] {
  const { frames, faults } = rawFramesOf(text);
  const check = checkOf(faults);
  for (const { event, data } of frames) {
    const value = parsed(data, faults);
    if (value === undefined) continue;
    if (event !== value['type']) faults.push(`the event line is ${event ?? 'missing'} where the type is ${String(value['type'])}`);
    check.take(value);
  }
  check.end();
  return faults;
}

/** Returns the object in a data line. */
export function parsed(data: string, faults: string[]): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(data);
    if (isObject(value)) return value;
  } catch {
    // Reported below.
  }
  faults.push(`a frame is not a JSON object: ${JSON.stringify(data.slice(0, 200))}`);
  return undefined;
}
