// The reference of a payment or an invoice in the text of an entry of the journal, which is one text for both the reason and the reference. Pure.

/** Returns the text of an entry: the reason, followed by the reference in parentheses. */
export function withReference(reason: string, reference: string): string {
  return reference.trim() === '' ? reason : `${reason} (${reference.trim()})`.trim();
}

/** Returns the reference in the text of an entry; undefined if there is none. */
export function referenceIn(text: string): string | undefined {
  return /(?:^| )\(([^()]+)\)$/.exec(text)?.[1];
}
