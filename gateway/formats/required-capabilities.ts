// What a body asks for beside its meaning, gathered while it is translated: what only some models read, what only upstreams of its own
// format can honour, and how much of it has no common form.
import type { TObject, TSchema } from 'typebox';
import { Modality } from '#proto/catalog/v1/catalog.js';
import type { NativeRequest_Refusal as Refusal } from '#proto/inference/v1/inference.js';
import { DroppedFields, ignoredKeyword, nativeOnlyKeyword } from './fields.js';
import type { ModalityNeed } from './format.js';
import { isKnownInOtherCase } from './native-fields.js';

// One refusal is enough to pass a target over and to tell the caller why; a hostile body could have thousands.
const refusalsMax = 8;
/** The tokens that a vendor puts before the model for a tool whose schema is implied by its type. */
const impliedToolTokens = 2048;

/** Gathers demands; names and refusals are bounded, the rest are counts. */
export class Demands {
  /** Fields without effect on any route. */
  readonly dropped = new DroppedFields();
  /** Fields that only upstreams of the caller's format get; others do without. */
  readonly droppedElsewhere = new DroppedFields();
  /** Fields that only upstreams of the caller's format can honour; at most 8. */
  readonly refusedElsewhere: Refusal[] = [];
  /** What the model must read beside text: one need for each modality, with the first field. */
  readonly needs: ModalityNeed[] = [];
  images = 0;
  documents = 0;
  /** The most tokens of what has no common form; to be added to the bound of the prompt. */
  foreignTokensMax = 0;

  /** The model must read this modality. */
  need(modality: Modality, field: string): void {
    if (!this.needs.some((need) => need.modality === modality)) this.needs.push({ modality, field });
  }

  /** One image. */
  addImage(field: string): void {
    this.images += 1;
    this.need(Modality.MODALITY_IMAGE, field);
  }

  /** One document whose tokens cannot be told from its bytes: a PDF, one behind a url, or one of unknown content. */
  addDocument(field: string): void {
    this.documents += 1;
    this.need(Modality.MODALITY_DOCUMENT, field);
  }

  /** A value that the model may read and that has no common form: no tokenizer makes more tokens of it than its JSON has bytes. */
  addForeign(value: unknown): void {
    this.foreignTokensMax += Buffer.byteLength(JSON.stringify(value) ?? '');
  }

  /** A tool whose schema is implied by its type, so that it is longer than it looks. */
  addImpliedTool(tool: unknown): void {
    this.foreignTokensMax += impliedToolTokens;
    this.addForeign(tool);
  }

  /** Only upstreams of the caller's format can do this; the text completes "<field>: …" and names the fix. */
  refuseElsewhere(field: string, text: string): void {
    if (this.refusedElsewhere.length < refusalsMax) this.refusedElsewhere.push({ field, text });
  }

  /** Sorts the fields of an object that are present: what its schema ignores, or knows in other case, is dropped; what it passes on or does not know is dropped elsewhere. */
  addUnhonoured(value: object, schema: TObject, prefix = ''): void {
    const properties: Record<string, TSchema> = schema.properties;
    for (const [name, field] of Object.entries(value)) {
      if (field === null || field === undefined) continue;
      const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
      const isIgnored = property === undefined ? isKnownInOtherCase(name, properties) : ignoredKeyword in property;
      if (isIgnored) this.dropped.add(`${prefix}${name}`);
      else if (property === undefined || nativeOnlyKeyword in property) this.droppedElsewhere.add(`${prefix}${name}`);
    }
  }
}
