// Converts an upstream's vectors, numbers or base64, to events with float32, in messages of bounded size. Pure.
import type { Event, GenerateResponse } from '#proto/inference/v1/inference.js';
import { malformed } from '../answers/stream-decoder.js';

/** Maximum bytes of vectors in one message, well below the maximum size of a gRPC message. */
const messageBytesMax = 1 << 20;

/** Returns the event with a vector of numbers. */
export function vectorEvent(index: number, numbers: readonly number[] | Float32Array): Event {
  const vector = Buffer.allocUnsafe(numbers.length * 4);
  for (let position = 0; position < numbers.length; position += 1) vector.writeFloatLE(numbers[position]!, position * 4);
  return { event: { $case: 'embedding', value: { index, vector } } };
}

/** Returns the event with a vector as an upstream sent it. Raises upstream_failed for anything but numbers or base64 of them. */
export function readVector(index: number, embedding: unknown): Event {
  if (typeof embedding === 'string') {
    const vector = Buffer.from(embedding, 'base64');
    if (vector.length === 0 || vector.length % 4 !== 0) throw malformed('a vector that is not base64 of float32');
    return { event: { $case: 'embedding', value: { index, vector } } };
  }
  if (!Array.isArray(embedding) || embedding.length === 0 || !embedding.every((value) => typeof value === 'number'))
    throw malformed('a vector that is not a list of numbers');
  return vectorEvent(index, embedding as number[]);
}

/** Returns the message as several whose vectors are within the limit; the last one has the events after the vectors. */
export function* splitVectors({ events, ...rest }: GenerateResponse): Generator<GenerateResponse> {
  let part: Event[] = [];
  let bytes = 0;
  for (const each of events) {
    if (each.event?.$case === 'embedding') bytes += each.event.value.vector.length;
    if (bytes > messageBytesMax && part.length > 0) {
      yield { ...rest, events: part };
      part = [];
      bytes = 0;
    }
    part.push(each);
  }
  yield { ...rest, events: part };
}
