// Entries of the audit log in words. Pure.
import type { AuditEvent } from '../../api/users.js';
import { usdText } from '../../format/money.js';

const charsMax = 300;
const tailChars = 8;
const longId = /^[a-z]+_[0-9a-f]{32}$/;
const amount = /^-?\d+(\.\d+)?$/;
const instant = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

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
      .map(([name, value]) => `${words(name)}: ${valueText(value, name)}`),
    ...changes.map((name) => `${words(name)}: ${valueText((before as Fields)[name], name)} → ${valueText((after as Fields)[name], name)}`),
  ];
  const text = parts.join(' · ');
  return text.length > charsMax ? `${text.slice(0, charsMax)}…` : text;
}

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);
const isAmount = (name: string): boolean => name.endsWith('_usd');
const words = (name: string): string => name.replace(/_usd$/, '').replaceAll('_', ' ');

/** Returns a value in words; `name` is that of its field. */
function valueText(value: unknown, name = ''): string {
  if (value === null || value === undefined || value === '' || (typeof value === 'object' && Object.keys(value).length === 0)) return '–';
  if (typeof value === 'string') {
    if (longId.test(value)) return `${value.slice(0, value.indexOf('_') + 1)}…${value.slice(-tailChars)}`;
    if (isAmount(name) && amount.test(value)) return usdText(value);
    return instant.test(value) ? `${value.slice(0, 19).replace('T', ' ')} UTC` : value;
  }
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (Array.isArray(value)) return value.map((each) => valueText(each)).join(', ');
  if (typeof value === 'object')
    return Object.entries(value)
      .map(([field, each]) => `${words(field)} ${valueText(each, field)}`)
      .join(', ');
  return '';
}
