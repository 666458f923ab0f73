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
  /** A call of a custom tool, whose arguments are free text. */
  isCustom: boolean;
  /** JSON as the model wrote it, possibly invalid or empty. */
  argumentsJson: string;
  /** A block without a common form, as it opened: JSON of the upstream's format. Empty otherwise. */
  foreignJson: string;
  /** Deltas without a common form, in order: JSON of the upstream's format. */
  foreignDeltas: string[];
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
    for (const event of events) this.add(event);
  }

  /** Takes one event; returns the block that it belongs to, if it belongs to one. */
  add({ event }: Event): Block | undefined {
    switch (event?.$case) {
      case 'blockStart': {
        const block = emptyBlock(event.value);
        this.list.push(block);
        this.byIndex.set(event.value.index, block);
        return block;
      }
      case 'blockDelta': {
        const block = this.byIndex.get(event.value.index);
        if (block === undefined || event.value.delta === undefined) return block;
        const { $case, value } = event.value.delta;
        if ($case === 'foreignJson') block.foreignDeltas.push(value);
        else block[$case] += value;
        return block;
      }
      case 'blockStop':
        return this.byIndex.get(event.value.index);
      case 'finished':
        this.finished = true;
        this.stopReason = event.value.stopReason;
        this.stopSequence = event.value.stopSequence;
        return undefined;
      default:
        return undefined;
    }
  }

  /** The text of all blocks of a kind, joined; undefined when there is no such block. */
  textOf(kind: Block['kind']): string | undefined {
    const blocks = this.list.filter((block) => block.kind === kind);
    return blocks.length === 0 ? undefined : blocks.map((block) => block.text).join('');
  }
}

/** A block that has just begun. */
export function emptyBlock({ block }: BlockStart): Block {
  const empty: Block = {
    kind: block?.$case ?? 'text',
    text: '',
    signature: '',
    redactedData: '',
    id: '',
    name: '',
    isCustom: false,
    argumentsJson: '',
    foreignJson: '',
    foreignDeltas: [],
  };
  if (block?.$case === 'toolCall') return { ...empty, id: block.value.id, name: block.value.name, isCustom: block.value.isCustom === true };
  if (block?.$case === 'reasoning') return { ...empty, redactedData: block.value.redactedData };
  if (block?.$case === 'foreign') return { ...empty, foreignJson: block.value.json };
  return empty;
}
