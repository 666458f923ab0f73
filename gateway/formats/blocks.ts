// The content blocks of an answer, put together from its events: what both formats' whole answers are rendered from.
import { type BlockStart, type Event, StopReason } from '#proto/inference/v1/inference.js';

/** One block of an answer, as far as its events go. */
export interface Block {
  kind: 'text' | 'refusal' | 'reasoning' | 'toolCall' | 'foreign';
  /** Of a text, refusal or reasoning block. */
  text: string;
  /** Of a reasoning block; empty when the vendor made none. */
  signature: string;
  /** Of a redacted reasoning block; its text is then empty. */
  redactedData: string;
  /** Of a tool call. */
  id: string;
  name: string;
  /** JSON as the model wrote it, possibly invalid or empty. */
  argumentsJson: string;
}

/** Collects the blocks of one answer, in the order of their starts, and how it ended. */
export class Blocks {
  readonly list: Block[] = [];
  stopReason = StopReason.STOP_REASON_UNSPECIFIED;
  /** The stop sequence that was met; empty when none or unknown. */
  stopSequence = '';
  /** Whether the finished event has come. */
  finished = false;
  private readonly byIndex = new Map<number, Block>();

  push(events: readonly Event[]): void {
    for (const { event } of events) if (event !== undefined) this.add(event);
  }

  /** The text of all blocks of a kind, joined; undefined when there is no such block. */
  textOf(kind: Block['kind']): string | undefined {
    const blocks = this.list.filter((block) => block.kind === kind);
    return blocks.length === 0 ? undefined : blocks.map((block) => block.text).join('');
  }

  private add(event: NonNullable<Event['event']>): void {
    switch (event.$case) {
      case 'blockStart': {
        const block = emptyBlock(event.value);
        this.list.push(block);
        this.byIndex.set(event.value.index, block);
        return;
      }
      case 'blockDelta': {
        const block = this.byIndex.get(event.value.index);
        if (block === undefined || event.value.delta === undefined) return;
        const { $case, value } = event.value.delta;
        if ($case !== 'foreignJson') block[$case] += value;
        return;
      }
      case 'finished':
        this.finished = true;
        this.stopReason = event.value.stopReason;
        this.stopSequence = event.value.stopSequence;
        return;
      case 'started':
      case 'blockStop':
      case 'foreign':
        return;
    }
  }
}

/** A block that has just begun. */
export function emptyBlock({ block }: BlockStart): Block {
  const empty: Block = { kind: block?.$case ?? 'text', text: '', signature: '', redactedData: '', id: '', name: '', argumentsJson: '' };
  if (block?.$case === 'toolCall') return { ...empty, id: block.value.id, name: block.value.name };
  if (block?.$case === 'reasoning') return { ...empty, redactedData: block.value.redactedData };
  return empty;
}
