// The particulars of an entry of the audit log in one line. Pure.

const charsMax = 300;

/** For example `role: developer · email: ada@example.com`; empty when there are none. */
export function detailText(detail: Readonly<Record<string, unknown>>): string {
  const parts = Object.entries(detail).map(([name, value]) => `${name.replaceAll('_', ' ')}: ${valueText(value)}`);
  const text = parts.join(' · ');
  return text.length > charsMax ? `${text.slice(0, charsMax)}…` : text;
}

function valueText(value: unknown): string {
  if (value === null) return '–';
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (Array.isArray(value)) return value.map(valueText).join(', ');
  return JSON.stringify(value);
}
