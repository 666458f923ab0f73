// Entries of the audit log in words. Pure.
import type { AuditEvent } from '../../../api/users.js';
import { durationText } from '../../../format/duration.js';
import { usdText } from '../../../format/money.js';

const charsMax = 200;
const tailChars = 8;
const longId = /^[a-z]+_[0-9a-f]{32}$/;

/** Returns the name of the target: the address of a member, otherwise the name or address in the entry, otherwise the end of the id. */
export function targetText({ target_id: id, detail }: Pick<AuditEvent, 'target_id' | 'detail'>, email: string | undefined): string {
  const named = [email, detail['name'], detail['email']].find((text): text is string => typeof text === 'string' && text !== '');
  if (named !== undefined) return named;
  return longId.test(id) ? `…${id.slice(-tailChars)}` : id;
}

const units = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
] as const;
export type DurationUnit = (typeof units)[number][0];

/** The texts and formatters that depend on the user's language and on the page. */
export interface DetailWords {
  /** The names of fields and the words of values (i18n/audit-fields.ts). */
  readonly words: Readonly<Record<string, string>>;
  /** Formats a timestamp. */
  readonly time: (instant: string) => string;
  /** Formats a duration. */
  readonly duration: (count: number, unit: DurationUnit) => string;
  /** Returns the name of the object with this id. */
  readonly nameOf: (id: string) => string | undefined;
}

/** Returns, for example, the role `developer`, or the state `active → disabled`. Leaves out the value `said`, and fields of new objects without a value. */
export function detailParts(
  detail: Readonly<Record<string, unknown>>,
  said: string,
  words: DetailWords,
): { readonly name: string; readonly text: string }[] {
  const { before, after, ...others } = detail;
  const isChange = isFields(before) && isFields(after);
  const changes = isChange ? [...new Set([...Object.keys(before), ...Object.keys(after)])] : [];
  return [
    ...Object.entries(isChange ? others : detail)
      .filter(([name, value]) => value !== said && !isNothing(value) && !(name === 'prompt_log_days' && value === 0))
      .map(([name, value]) => ({ name, text: valueText(name, value, words) })),
    ...changes.map((name) => {
      return { name, text: `${valueText(name, (before as Fields)[name], words)} → ${valueText(name, (after as Fields)[name], words)}` };
    }),
  ].map(({ name, text }) => ({
    name: fieldName(name, words),
    text: text.length > charsMax ? `${text.slice(0, charsMax)}…` : text,
  }));
}

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);
const isNothing = (value: unknown): boolean =>
  value === null || value === undefined || value === '' || (typeof value === 'object' && Object.keys(value).length === 0);

function fieldName(name: string, { words }: DetailWords): string {
  const plain = name.replace(/_(ms|tokens)$/, '').replaceAll('_', ' ');
  return words[name] ?? plain.charAt(0).toUpperCase() + plain.slice(1);
}

/** The fields whose values are words of ours rather than names that users gave. */
const ofWords: readonly string[] = ['change', 'former_role', 'kind', 'mode', 'models', 'role', 'secret', 'source', 'state'];

function valueText(name: string, value: unknown, words: DetailWords): string {
  if (isNothing(value)) return '–';
  if (Array.isArray(value)) {
    if (name === 'alert_percents') return value.map((percent) => `${percent}%`).join(', ');
    return value.map((each) => (name === 'changed' ? fieldName(String(each), words) : valueText(name, each, words))).join(', ');
  }
  if (isFields(value)) return fieldsText(name, value, words);
  if (typeof value === 'boolean') return words.words[String(value)]!;
  if (typeof value === 'number') return numberText(name, value, words);
  const text = String(value);
  if (longId.test(text)) return words.nameOf(text) ?? `${text.slice(0, text.indexOf('_') + 1)}…${text.slice(-tailChars)}`;
  if (/(^|_)usd$/.test(name) && /^-?\d+(\.\d+)?$/.test(text)) return usdText(text);
  if (/^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text)) return words.time(text);
  if (name === 'budget_fallback') return text.replace(/:(\d+)$/, ' (≥ $1%)');
  return (ofWords.includes(name) ? words.words[text] : undefined) ?? text;
}

function numberText(name: string, value: number, { words, duration }: DetailWords): string {
  if (name === 'prompt_log_days') return value === 0 ? (words['off'] ?? 'off') : duration(value, 'day');
  if (name.endsWith('_ms')) return durationText(value);
  if (name.endsWith('_seconds')) {
    const [unit, seconds] = units.find((each) => value > 0 && value % each[1] === 0) ?? ['second', 1];
    return duration(value / seconds, unit);
  }
  return value.toLocaleString('en');
}

function fieldsText(name: string, fields: Fields, words: DetailWords): string {
  const entries = Object.entries(fields).filter(([, value]) => !isNothing(value));
  if (name === 'budgets') return entries.map(([period, budget]) => budgetText(period, budget as Fields, words)).join('; ');
  const usd = name === 'usd_per_million_tokens' ? 'usd' : undefined;
  const role = name === 'project_roles' ? 'role' : undefined;
  return entries
    .map(
      ([each, value]) =>
        `${words.nameOf(each) ?? fieldName(each, words)}${words.words['colon']}${valueText(usd ?? role ?? each, value, words)}`,
    )
    .join(', ');
}

/** For example `$25.00 per month (alerts at 80%)`. */
function budgetText(period: string, { limit_usd: limit, soft = false, alert_percents: percents }: Fields, words: DetailWords): string {
  const details = [
    ...(soft === true ? [words.words['soft']!] : []),
    ...(isNothing(percents) ? [] : [`${words.words['alerts']} ${valueText('alert_percents', percents, words)}`]),
  ];
  return `${usdText(String(limit))} ${words.words[period] ?? period}${details.length === 0 ? '' : ` (${details.join(', ')})`}`;
}
