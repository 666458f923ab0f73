// Marks on reasoning that a vendor signed or encrypted, so that it is only sent back to upstreams that can read it. Pure.

const itemPrefix = 'tgitem.';
const reasoningPrefix = 'tgreason.';

/** A reasoning item of a responses upstream. Its vendor rejects the encrypted content under another id. */
export interface SealedItem {
  readonly id: string;
  readonly encryptedContent: string;
}

/** Reasoning as other formats have it. */
export interface SealedReasoning {
  readonly text: string;
  readonly signature: string;
  readonly redactedData: string;
}

/** Returns the signature that stands for a reasoning item of a responses upstream in every other format and in the common call. */
export function signatureOfItem({ id, encryptedContent }: SealedItem): string {
  return `${itemPrefix}${id}.${encryptedContent}`;
}

/** Returns the item that a signature stands for; undefined if a vendor of another format signed the reasoning. */
export function itemOfSignature(signature: string): SealedItem | undefined {
  if (!signature.startsWith(itemPrefix)) return undefined;
  const end = signature.indexOf('.', itemPrefix.length);
  return end < 0 ? undefined : { id: signature.slice(itemPrefix.length, end), encryptedContent: signature.slice(end + 1) };
}

/** Returns the encrypted_content of a reasoning item whose upstream does not use the responses format. It is encoded, not encrypted: the caller received its parts. */
export function encryptedContentOf({ text, signature, redactedData }: SealedReasoning): string {
  return reasoningPrefix + Buffer.from(JSON.stringify([text, signature, redactedData])).toString('base64url');
}

/** Returns the reasoning in an encrypted_content that the gateway wrote; undefined if a vendor wrote it, or a caller changed it. */
export function reasoningOf(encryptedContent: string): SealedReasoning | undefined {
  if (!isOwnEncryptedContent(encryptedContent)) return undefined;
  try {
    const parts: unknown = JSON.parse(Buffer.from(encryptedContent.slice(reasoningPrefix.length), 'base64url').toString());
    if (!Array.isArray(parts) || parts.length !== 3 || !parts.every((part) => typeof part === 'string')) return undefined;
    const [text, signature, redactedData] = parts as [string, string, string];
    return { text, signature, redactedData };
  } catch {
    return undefined;
  }
}

/** Reports whether the gateway wrote an encrypted_content, which no vendor can read. */
export function isOwnEncryptedContent(encryptedContent: string): boolean {
  return encryptedContent.startsWith(reasoningPrefix);
}
