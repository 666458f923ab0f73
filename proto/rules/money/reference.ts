// The reference of a payment or an invoice in the text of an entry of the journal, which is one text for both the reason and the reference. Pure.

/**
 * Returns the text of an entry: the reason, followed by the reference in parentheses. A reason without a reference that ends in parentheses gets a full
 * stop, so that they are not taken for one.
 */
export function withReference(reason: string, reference: string): string {
  if (reference.trim() !== '') return `${reason} (${reference.trim()})`.trim();
  return referenceIn(reason.trimEnd()) === undefined ? reason : `${reason.trimEnd()}.`;
}

/** Returns the reference in the text of an entry; undefined if there is none. */
export function referenceIn(text: string): string | undefined {
  // The reference may contain parentheses itself, such as "INV-7 (part 2)".
  return /(?:^| )\(((?:[^()]|\([^()]*\))+)\)$/.exec(text)?.[1];
}
