// Lines of CSV (RFC 4180) that are safe to open in spreadsheets. Pure.

/** Returns a line with its line break. */
export function csvLine(values: readonly (string | number)[]): string {
  return `${values.map((value) => cell(String(value))).join(',')}\r\n`;
}

function cell(text: string): string {
  // Spreadsheets evaluate a cell that begins like a formula; a leading quote makes it text.
  const safe = /^[=+\-@\t\r]/.test(text) && !/^-?\d+(\.\d+)?$/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
