// Writes the output items of one answer as blocks: one for each content part of a message, and one for each other item.
import { signatureOfItem } from '#rules/wire/reasoning-seals.js';
import type { BlockWriter } from '../answers/block-writer.js';
import { isObject, type JsonObject, listOf, malformed, optionalTextField } from '../answers/stream-decoder.js';
import type { Item } from './items.js';
import { blockRest, deltaRest } from './rest.js';

/** Holds what the writer needs to know about the call. */
export interface ItemWriterOptions {
  /** Whether the caller uses this format too. */
  readonly isNative: boolean;
  /** Returns the caller's name of a tool whose name was shortened for the upstream. */
  readonly toCallerName: (name: string) => string;
  /** Creates an id with this prefix, for upstreams that send none. */
  readonly newId: (prefix: string) => string;
}

type TextKind = 'text' | 'refusal' | 'reasoning';

/** What kind of text a piece is, and the field of its event that numbers it within the item. */
interface Piece {
  readonly kind: TextKind;
  readonly counter: 'content_index' | 'summary_index';
}

const summaryPiece: Piece = { kind: 'reasoning', counter: 'summary_index' };
const thoughtPiece: Piece = { kind: 'reasoning', counter: 'content_index' };
/** The pieces by the type of their content part. */
const pieceOfPart: ReadonlyMap<unknown, Piece> = new Map([
  ['output_text', { kind: 'text', counter: 'content_index' }],
  ['refusal', { kind: 'refusal', counter: 'content_index' }],
]);
/** The pieces by the type of their events without its last word, delta or done. */
const pieceOfEvent: ReadonlyMap<string, Piece> = new Map([
  ['response.output_text', { kind: 'text', counter: 'content_index' }],
  ['response.refusal', { kind: 'refusal', counter: 'content_index' }],
  ['response.reasoning_summary_text', summaryPiece],
  ['response.reasoning_text', thoughtPiece],
]);
/** The events of a call's arguments in the same way, with the field that has them when they are done. */
const argumentsOfEvent: ReadonlyMap<string, string> = new Map([
  ['response.function_call_arguments', 'arguments'],
  ['response.custom_tool_call_input', 'input'],
]);
/** Events about parts of reasoning, which add nothing to the events of its text. */
const silent = /^response\.reasoning_(summary_)?part\./;
const prefixes: Readonly<Record<string, string>> = { message: 'msg', reasoning: 'rs', function_call: 'fc', custom_tool_call: 'ctc' };

/** Returns the type of the item that an event belongs to, if only that type has such events. */
export function itemTypeOf(eventType: string): string | undefined {
  const piece = pieceOfEvent.get(stemOf(eventType));
  return piece && itemTypeOfPiece(piece);
}

function itemTypeOfPiece({ kind }: Piece): string {
  return kind === 'reasoning' ? 'reasoning' : 'message';
}

/** Writes the items one after another. */
export class ItemWriter {
  readonly #callIds = new Set<string>();

  constructor(
    private readonly writer: BlockWriter,
    private readonly options: ItemWriterOptions,
  ) {}

  /** Reports whether a call with this id has been written. */
  hasCall(callId: string): boolean {
    return this.#callIds.has(callId);
  }

  /** Begins an item, whose turn it is. */
  begin(item: Item): void {
    if (isCall(item)) this.#openCall(item, item.added);
    else if (!this.options.isNative || item.type === 'message') return;
    else if (item.type === 'reasoning') this.#open(item, 'reasoning');
    else this.writer.open({ $case: 'foreign', value: { json: JSON.stringify(item.added) } });
  }

  /** Writes an event of the item. */
  write(item: Item, type: string, event: JsonObject): void {
    if (isForeign(item)) return this.#writeForeign(event);
    const [stem, isDelta] = [stemOf(type), type.endsWith('.delta')];
    const piece = pieceOfEvent.get(stem);
    const callField = argumentsOfEvent.get(stem);
    if (piece !== undefined) {
      const index = event[piece.counter];
      if (isDelta) this.#writeText(item, piece, index, optionalTextField(event, 'delta'), event);
      else this.#complete(item, piece, index, event[piece.kind === 'refusal' ? 'refusal' : 'text']);
    } else if (callField !== undefined) {
      if (!isCall(item)) throw malformed('arguments for an item that is not a call');
      // A call whose name is still unknown waits for its end, which has everything.
      if (this.writer.openKind === undefined) return;
      if (isDelta) this.#writeArguments(item, optionalTextField(event, 'delta'), event);
      else this.#completeArguments(item, event[callField]);
    } else if (type === 'response.content_part.added') this.#beginPart(item, event['part'], event['content_index']);
    else if (type === 'response.content_part.done') this.#endPart(item, event['part'], event['content_index']);
    else if (!silent.test(type)) this.#writeForeign(event, item);
  }

  /** Writes another piece of the text of the item that was written last, without anything alongside it. */
  append(item: Item, text: string): void {
    this.writer.delta({ $case: 'text', value: text });
    item.written.set(item.piece!, (item.written.get(item.piece!) ?? 0) + text.length);
  }

  /** Ends an item, given the whole of it: writes what its events left out. */
  end(item: Item, whole: JsonObject): void {
    if (item.type === 'message') for (const [index, part] of listOf(whole['content']).entries()) this.#endPart(item, part, index);
    else if (item.type === 'reasoning') this.#endReasoning(item, whole);
    else if (isCall(item)) this.#endCall(item, whole);
    else if (this.options.isNative) {
      this.writer.close();
      this.writer.attach(JSON.stringify({ item: whole }));
    }
    this.#close(item, whole);
  }

  #endReasoning(item: Item, whole: JsonObject): void {
    for (const [index, part] of listOf(whole['summary']).entries()) this.#complete(item, summaryPiece, index, textIn(part));
    for (const [index, part] of listOf(whole['content']).entries()) this.#complete(item, thoughtPiece, index, textIn(part));
    const encryptedContent = optionalTextField(whole, 'encrypted_content');
    if (encryptedContent === '') return;
    if (this.writer.openKind === undefined) this.#open(item, 'reasoning');
    // The vendor checks that the content comes back under the id of its item.
    this.writer.delta({ $case: 'signature', value: signatureOfItem({ id: optionalTextField(whole, 'id') || item.id, encryptedContent }) });
  }

  #endCall(item: Item, whole: JsonObject): void {
    if (this.writer.openKind === undefined) this.#openCall(item, whole);
    if (this.writer.openKind === undefined) throw malformed('a tool call without a name');
    const isCustom = item.type === 'custom_tool_call';
    this.#completeArguments(item, whole[isCustom ? 'input' : 'arguments']);
    if (!isCustom && !item.written.has('arguments')) this.writer.delta({ $case: 'argumentsJson', value: '{}' });
  }

  #openCall(item: Item, { name, call_id: callId, id }: JsonObject): void {
    if (typeof name !== 'string' || name === '') return;
    const sent = typeof callId === 'string' && callId !== '' ? callId : typeof id === 'string' ? id : '';
    const isKnown = sent === '' || this.#callIds.has(sent);
    const ownId = isKnown ? this.options.newId('call') : sent;
    this.#callIds.add(ownId);
    const custom = item.type === 'custom_tool_call' ? { isCustom: true } : {};
    this.writer.open({ $case: 'toolCall', value: { id: ownId, name: this.options.toCallerName(name), ...custom } });
    this.#attachStart(item);
  }

  #writeArguments(item: Item, text: string, event: JsonObject = {}): void {
    if (text === '') return;
    this.writer.delta({ $case: 'argumentsJson', value: text }, this.#restOf(event));
    item.written.set('arguments', (item.written.get('arguments') ?? 0) + text.length);
  }

  #completeArguments(item: Item, whole: unknown): void {
    this.#writeArguments(item, argumentsText(whole).slice(item.written.get('arguments') ?? 0));
  }

  /** Writes what is missing of a piece, given the whole of it. */
  #complete(item: Item, piece: Piece, index: unknown, whole: unknown): void {
    if (typeof whole === 'string') this.#writeText(item, piece, index, whole.slice(item.written.get(keyOf(piece, index)) ?? 0));
  }

  #writeText(item: Item, piece: Piece, index: unknown, text: string, event: JsonObject = {}): void {
    if (item.type !== itemTypeOfPiece(piece)) throw malformed('a text that does not belong to its item');
    if (text === '') return;
    const key = keyOf(piece, index);
    if (piece.kind !== 'reasoning') this.#open(item, piece.kind, key);
    else if (!this.#openThought(item, piece, key)) return;
    const place =
      piece.kind === 'reasoning' && (piece.counter === 'content_index' || Number(index ?? 0) > 0)
        ? { [piece.counter]: index ?? 0 }
        : undefined;
    this.writer.delta({ $case: 'text', value: text }, this.#restOf(event, place));
    item.written.set(key, (item.written.get(key) ?? 0) + text.length);
  }

  /** Opens the block of a reasoning item for a piece. Returns false if the caller already reads a summary in place of the thoughts, or the reverse. */
  #openThought(item: Item, { counter }: Piece, key: string): boolean {
    const isOther = item.piece !== undefined && !item.piece.startsWith(counter);
    if (isOther && !this.options.isNative) return false;
    if (this.writer.openKind === undefined) this.#open(item, 'reasoning');
    if (item.piece !== undefined && item.piece !== key)
      this.writer.delta({ $case: 'text', value: '\n\n' }, this.options.isNative ? '{"is_separator":true}' : undefined);
    item.piece = key;
    return true;
  }

  /** Opens a block for a text of the item, unless it is open. */
  #open(item: Item, kind: TextKind, key?: string, part?: JsonObject): void {
    if (this.writer.openKind !== undefined) {
      if (item.piece === key) return;
      this.#close(item, undefined);
    }
    item.piece = key;
    if (key !== undefined && !item.written.has(key)) item.written.set(key, 0);
    this.writer.open(kind === 'reasoning' ? { $case: kind, value: { redactedData: '' } } : { $case: kind, value: {} });
    this.#attachStart(item, part ?? (kind === 'reasoning' ? undefined : {}));
  }

  /** Opens the block of a content part before its first text, because a caller of the format reads empty parts as well. */
  #beginPart(item: Item, part: unknown, index: unknown): void {
    const piece = isObject(part) ? pieceOfPart.get(part['type']) : undefined;
    if (!this.options.isNative || piece === undefined || item.type !== 'message' || item.written.has(keyOf(piece, index))) return;
    this.#open(item, piece.kind, keyOf(piece, index), part as JsonObject);
  }

  #endPart(item: Item, part: unknown, index: unknown): void {
    const piece = isObject(part) ? pieceOfPart.get(part['type']) : undefined;
    if (piece === undefined || item.type !== 'message') return;
    this.#beginPart(item, part, index);
    this.#complete(item, piece, index, (part as JsonObject)[piece.kind]);
    if (item.piece === keyOf(piece, index)) item.part = structuredClone(part as JsonObject);
  }

  #close(item: Item, whole: JsonObject | undefined): void {
    if (this.writer.openKind === undefined) return;
    this.writer.close();
    if (this.options.isNative) this.writer.attach(blockRest(whole, item.part));
    item.part = undefined;
  }

  #attachStart(item: Item, part?: JsonObject): void {
    if (!this.options.isNative) return;
    const id = item.id || this.options.newId(prefixes[item.type] ?? 'item');
    this.writer.attach(blockRest({ ...item.added, id }, part));
  }

  #restOf(event: JsonObject, place?: JsonObject): string | undefined {
    return this.options.isNative ? deltaRest(event, place) : undefined;
  }

  #writeForeign(event: JsonObject, item?: Item): void {
    if (!this.options.isNative) return;
    if (this.writer.openKind === undefined && item?.type === 'message')
      this.#open(item, 'text', keyOf(pieceOfPart.get('output_text')!, event['content_index']));
    if (this.writer.openKind !== undefined) this.writer.delta({ $case: 'foreignJson', value: JSON.stringify(event) });
  }
}

function isCall({ type }: Item): boolean {
  return type === 'function_call' || type === 'custom_tool_call';
}

function isForeign(item: Item): boolean {
  return item.type !== 'message' && item.type !== 'reasoning' && !isCall(item);
}

function keyOf({ kind, counter }: Piece, index: unknown): string {
  return `${counter}:${kind}:${Number(index ?? 0)}`;
}

function stemOf(eventType: string): string {
  return eventType.slice(0, eventType.lastIndexOf('.'));
}

function textIn(part: unknown): unknown {
  return isObject(part) ? part['text'] : undefined;
}

/** Returns the arguments as text: some servers send them as an object. */
function argumentsText(value: unknown): string {
  if (typeof value === 'string') return value;
  return isObject(value) ? JSON.stringify(value) : '';
}
