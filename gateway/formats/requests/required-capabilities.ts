// The required capabilities of a body, collected while it is translated: what only some models read, what only upstreams of its own
// format can honour, and how much of it has no common form.
import type { TObject, TSchema } from 'typebox';
import { Modality } from '#proto/catalog/v1/catalog.js';
import type { NativeRequest_Refusal as Refusal, NativeRequest_VendorTool as VendorTool } from '#proto/inference/v1/inference.js';
import { fieldError } from './body-reader.js';
import { DroppedFields, ignoredKeyword, nativeOnlyKeyword } from './fields.js';
import type { ModalityNeed } from '../format.js';
import { foreignTokens, holdsUrl, urlTokens } from './foreign-tokens.js';
import { isKnownInOtherCase } from './native-fields.js';

// One refusal is enough to skip a target and to tell the caller why; a hostile body could have thousands.
const refusalsMax = 8;
const vendorToolsMax = 16;
/** The tokens that a vendor puts before the model for a tool whose schema is implied by its type. */
const impliedToolTokens = 2048;

/** Collects the required capabilities; names and refusals are bounded, the rest are counts. */
export class Demands {
  /** Fields without effect on any route. */
  readonly dropped = new DroppedFields();
  /** Fields that reach only upstreams of the caller's format and are dropped for others. */
  readonly droppedElsewhere = new DroppedFields();
  /** Fields that only upstreams of the caller's format can honour; at most 8. */
  readonly refusedElsewhere: Refusal[] = [];
  /** The types of tools that a vendor may run, each with its first field. */
  readonly vendorTools: VendorTool[] = [];
  /** The modalities other than text that the model must read, each with the first field that needs it. */
  readonly needs: ModalityNeed[] = [];
  images = 0;
  documents = 0;
  /** Maximum tokens of content without a common form, to be added to the bound of the prompt. */
  foreignTokensMax = 0;
  /** An estimate of the tokens of such content, for upstreams that do not report their input. */
  foreignTokens = 0;

  /** Requires the model to read this modality. */
  need(modality: Modality, field: string): void {
    if (!this.needs.some((need) => need.modality === modality)) this.needs.push({ modality, field });
  }

  /** Counts one image. */
  addImage(field: string): void {
    this.images += 1;
    this.need(Modality.MODALITY_IMAGE, field);
  }

  /** Counts one document whose tokens cannot be derived from its bytes: a PDF, one behind a url, or one of unknown content. */
  addDocument(field: string): void {
    this.documents += 1;
    this.need(Modality.MODALITY_DOCUMENT, field);
  }

  /** Counts a value without a common form that the model may read: no tokenizer produces more tokens for it than its JSON has bytes. */
  addForeign(value: unknown): void {
    this.foreignTokensMax += Buffer.byteLength(JSON.stringify(value) ?? '');
  }

  /** Counts content of the prompt without a common form. */
  addForeignContent(value: unknown): void {
    this.addForeign(value);
    this.foreignTokens += foreignTokens(value);
  }

  /** Counts content without a common form that may hold a url, the document behind which may fill the context. */
  addForeignDocument(value: unknown): void {
    this.addForeignContent(value);
    this.documents += 1;
    if (holdsUrl(value)) this.foreignTokens += urlTokens;
  }

  /** Counts a tool whose schema is implied by its type, so that it is longer than its JSON. */
  addImpliedTool(tool: unknown): void {
    this.foreignTokensMax += impliedToolTokens;
    this.addForeign(tool);
  }

  /**
   * Notes a tool that only an upstream may receive whose operator allows its type, or whose `unit` the model has a price for. Raises
   * unsupported_field for too many types.
   */
  addVendorTool(field: string, type: string, unit = '', more: Pick<VendorTool, 'maxUses' | 'optionalToolJson'> = {}): void {
    if (this.vendorTools.some((tool) => tool.type === type)) return;
    if (this.vendorTools.length >= vendorToolsMax)
      throw fieldError('unsupported_field', field, `a request can have at most ${vendorToolsMax} types of tools that a vendor runs`);
    this.vendorTools.push({ field, type, unit, ...more });
  }

  /** Refuses a field on upstreams of other formats; the text completes "<field>: …" and names the fix. */
  refuseElsewhere(field: string, text: string): void {
    if (this.refusedElsewhere.length < refusalsMax) this.refusedElsewhere.push({ field, text });
  }

  /** Classifies the fields of an object: those that its schema ignores, or knows in another case, are dropped; those that it passes on or does not know are dropped elsewhere. */
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
