// Text of clients.

/** Returns the printable ASCII characters of a client's text, for records and logs. */
export function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '');
}
