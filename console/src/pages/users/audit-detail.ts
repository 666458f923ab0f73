// Entries of the audit log in words. Pure.
import type { AuditEvent } from '../../api/users.js';

const charsMax = 300;
const tailChars = 8;
const longId = /^[a-z]+_[0-9a-f]{32}$/;

/** Returns the name of the target: the address of a member, otherwise the name or address in the entry, otherwise the end of the id. */
export function targetText({ target_id: id, detail }: Pick<AuditEvent, 'target_id' | 'detail'>, email: string | undefined): string {
  const named = [email, detail['name'], detail['email']].find((text): text is string => typeof text === 'string' && text !== '');
  if (named !== undefined) return named;
  return longId.test(id) ? `…${id.slice(-tailChars)}` : id;
}

/** For example `role: developer · state: active → disabled`; details that are shown elsewhere are omitted. */
export function detailText(detail: Readonly<Record<string, unknown>>, said: string): string {
  const { before, after, ...others } = detail;
  const changes = isFields(before) && isFields(after) ? [...new Set([...Object.keys(before), ...Object.keys(after)])] : [];
  const parts = [
    ...Object.entries(changes.length > 0 ? others : detail)
      .filter(([, value]) => value !== said)
      .map(([name, value]) => `${words(name)}: ${valueText(value)}`),
    ...changes.map((name) => `${words(name)}: ${valueText((before as Fields)[name])} → ${valueText((after as Fields)[name])}`),
  ];
  const text = parts.join(' · ');
  return text.length > charsMax ? `${text.slice(0, charsMax)}…` : text;
}

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);
const words = (name: string): string => name.replaceAll('_', ' ');

function valueText(value: unknown): string {
  if (value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0)) return '–';
  if (typeof value === 'string' && longId.test(value)) return `${value.slice(0, value.indexOf('_') + 1)}…${value.slice(-tailChars)}`;
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (Array.isArray(value)) return value.map(valueText).join(', ');
  if (typeof value === 'object')
    return Object.entries(value)
      .map(([name, each]) => `${words(name)} ${valueText(each)}`)
      .join(', ');
  return '';
}
