// Tokens of images and documents, as vendors compute them from pixels and pages. Pure.
import { type DocumentPart, type ImagePart, type Part, type Prompt } from '#proto/inference/v1/inference.js';
import { claudeGeneration } from '../requests/claude-generation.js';
import { type ImageSize, imageSize } from './image-size.js';

/** The size assumed for an image that cannot be inspected: one behind a url, or one with an unreadable header. */
const unknownSize: ImageSize = { width: 1024, height: 1024 };

/** The number of pages assumed for a document of unknown length. */
const unknownPages = 5;
const bytesPerPage = 50_000;

/** Returns the tokens of all images and documents of a prompt that its text does not account for, by the rules of the model's vendor. */
export function mediaTokens(prompt: Prompt, model: string): number {
  let tokens = 0;
  for (const { parts } of prompt.messages) tokens += partsTokens(parts, model);
  return tokens;
}

function partsTokens(parts: readonly Part[], model: string): number {
  let tokens = 0;
  for (const { part } of parts) {
    if (part?.$case === 'image') tokens += imageTokens(part.value, model);
    else if (part?.$case === 'document') tokens += documentTokens(part.value, model);
    else if (part?.$case === 'toolResult') tokens += partsTokens(part.value.content, model);
  }
  return tokens;
}

/** Returns the tokens of one image. */
export function imageTokens({ source, detail }: ImagePart, model: string): number {
  const size = (source?.$case === 'data' ? imageSize(source.value) : undefined) ?? unknownSize;
  const generation = claudeGeneration(model);
  if (generation !== undefined) return claudeImageTokens(size, generation);
  return /gpt-4|chatgpt|\bo[13]\b/.test(model) ? tileTokens(size, detail) : patchTokens(size, detail);
}

// Squares of 28 pixels, after the image is scaled down. Fitted to measurements that others have published
// (huggingface.co/datasets/JOHNISKING/image-token-cost): within 4 % of all ten sizes on generations 4.5 and 5.5.
function claudeImageTokens(size: ImageSize, generation: number): number {
  const [edgeMax, patchesMax] = generation >= 4.07 ? [2048, 4784] : [1568, 1568];
  const { width, height } = within(size, edgeMax);
  return Math.min(patchesMax, patches({ width, height }, 28));
}

/** Models up to the o3 and gpt-4 families: tiles of 512 pixels, after the image is scaled to fit 2048 pixels and its shorter side 768 pixels. */
function tileTokens(size: ImageSize, detail: string): number {
  if (detail === 'low') return 85;
  const fitted = within(size, 2048);
  const scale = Math.min(1, 768 / Math.min(fitted.width, fitted.height));
  return 85 + 170 * patches({ width: fitted.width * scale, height: fitted.height * scale }, 512);
}

/** Later models: squares of 32 pixels at 1.2 tokens each; bounds from the same measurements. */
function patchTokens(size: ImageSize, detail: string): number {
  const patchesMax = detail === 'low' ? 256 : detail === 'high' ? 2500 : 10_000;
  return Math.ceil(1.2 * Math.min(patchesMax, patches(size, 32)));
}

function within({ width, height }: ImageSize, edgeMax: number): ImageSize {
  const scale = Math.min(1, edgeMax / Math.max(width, height));
  return { width: width * scale, height: height * scale };
}

function patches({ width, height }: ImageSize, edge: number): number {
  return Math.ceil(width / edge) * Math.ceil(height / edge);
}

/** Returns the tokens of a document that is not text; its title and context are counted as text. A page is read both as text and as an image. */
function documentTokens({ source }: DocumentPart, model: string): number {
  if (source?.$case === 'text' || source === undefined) return 0;
  // Pages of text and tables had 2100 to 2500 tokens with Claude (huggingface.co/datasets/JOHNISKING/pdf-token-cost); no figures are known for other vendors.
  const perPage = claudeGeneration(model) === undefined ? 1500 : 2300;
  return perPage * (source.$case === 'url' ? unknownPages : pagesOf(source.value.base64));
}

const countPattern = /\/Type\s*\/Pages\b[^>]{0,400}?\/Count\s+(\d{1,5})\b|\/Count\s+(\d{1,5})\b[^>]{0,400}?\/Type\s*\/Pages\b/g;
const scannedChars = 1 << 18;

/** Returns the pages of a PDF: from its page tree if that is readable at either end of the file, otherwise estimated from its size. */
export function pagesOf(base64: string): number {
  const bytes = Math.floor((base64.length * 3) / 4);
  const tail = base64.length <= scannedChars ? '' : base64.slice(Math.floor((base64.length - scannedChars) / 4) * 4);
  let pages = 0;
  for (const piece of [base64.slice(0, scannedChars), tail]) {
    for (const [, one, other] of Buffer.from(piece, 'base64').toString('latin1').matchAll(countPattern))
      pages = Math.max(pages, Number(one ?? other));
  }
  return pages > 0 ? pages : Math.max(1, Math.ceil(bytes / bytesPerPage));
}
