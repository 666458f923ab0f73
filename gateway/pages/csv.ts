// Lines of CSV (RFC 4180) that spreadsheets can open without harm. Pure.

/** A line with its end. */
export function csvLine(values: readonly (string | number)[]): string {
  return `${values.map((value) => cell(String(value))).join(',')}\r\n`;
}

function cell(text: string): string {
  // Spreadsheets run a cell that begins like a formula; a quote before it makes it text.
  const safe = /^[=+\-@\t\r]/.test(text) && !/^-?\d+(\.\d+)?$/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
