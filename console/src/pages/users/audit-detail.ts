// Entries of the audit log in words. Pure.
import type { AuditEvent } from '../../api/users.js';

const charsMax = 300;
const tailChars = 8;

/** What was acted on: a member by their address, else by the name or address that the entry gives, else by the end of its id. */
export function targetText({ target_id: id, detail }: Pick<AuditEvent, 'target_id' | 'detail'>, email: string | undefined): string {
  const named = [email, detail['name'], detail['email']].find((text): text is string => typeof text === 'string' && text !== '');
  if (named !== undefined) return named;
  return /^[a-z]+_[0-9a-f]{32}$/.test(id) ? `…${id.slice(-tailChars)}` : id;
}

/** For example `role: developer · reason: invoice 7`; what is said already is left out. */
export function detailText(detail: Readonly<Record<string, unknown>>, said: string): string {
  const parts = Object.entries(detail)
    .filter(([, value]) => value !== said)
    .map(([name, value]) => `${name.replaceAll('_', ' ')}: ${valueText(value)}`);
  const text = parts.join(' · ');
  return text.length > charsMax ? `${text.slice(0, charsMax)}…` : text;
}

function valueText(value: unknown): string {
  if (value === null) return '–';
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (Array.isArray(value)) return value.map(valueText).join(', ');
  if (typeof value === 'object')
    return Object.entries(value)
      .map(([name, each]) => `${name.replaceAll('_', ' ')} ${valueText(each)}`)
      .join(', ');
  return '';
}
