// Estimates the tokens of content that has no common form, for upstreams that do not report their input.

/** The tokens of what is behind a url, as inference estimates them: five pages of a document (services/inference/tokens/media-tokens.ts). */
export const urlTokens = 7500;

/** A second of compressed audio (16 kB) has 32 tokens with Gemini (ai.google.dev/gemini-api/docs/audio); no figures are known for other content in base64. */
const bytesPerToken = 500;
const base64CharsMin = 1000;
const base64Start = new RegExp(`^[A-Za-z0-9+/_-]{${base64CharsMin}}`);

/** Returns four bytes of the value's JSON as one token; long base64 counts by the bytes that it encodes. */
export function foreignTokens(value: unknown): number {
  let encodedBytes = 0;
  const json = JSON.stringify(value, (_name, field: unknown) => {
    if (typeof field !== 'string' || field.length < base64CharsMin) return field;
    if (!field.startsWith('data:') && !base64Start.test(field)) return field;
    encodedBytes += (field.length * 3) / 4;
    return '';
  });
  return Math.ceil(Buffer.byteLength(json ?? '') / 4 + encodedBytes / bytesPerToken);
}

/** Reports whether a string anywhere in the value is a url. Bodies are bounded in depth. */
export function holdsUrl(value: unknown): boolean {
  if (typeof value === 'string') return /^https?:\/\//i.test(value);
  return typeof value === 'object' && value !== null && Object.values(value).some(holdsUrl);
}
