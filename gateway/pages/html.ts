// HTML as tagged templates: whatever is put into one is escaped, unless it is HTML made by another.

/** Text that is HTML already. */
export class Html {
  constructor(readonly text: string) {}
}

type Value = Html | string | number | undefined | readonly Value[];

/** HTML with its values escaped; lists are joined, undefined is nothing. */
export function html(texts: TemplateStringsArray, ...values: readonly Value[]): Html {
  let result = texts[0]!;
  values.forEach((value, index) => {
    result += rendered(value) + texts[index + 1]!;
  });
  return new Html(result);
}

function rendered(value: Value): string {
  if (value === undefined) return '';
  if (value instanceof Html) return value.text;
  if (typeof value === 'object') return value.map(rendered).join('');
  return escapeText(String(value));
}

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** A text as it may stand in an element or between the quotes of an attribute. */
export function escapeText(text: string): string {
  return text.replace(/[&<>"']/g, (character) => escapes[character]!);
}
