// HTML as tagged templates: every value is escaped, unless it is HTML produced by another template.

/** Text that is already HTML. */
export class Html {
  constructor(readonly text: string) {}
}

type Value = Html | string | number | undefined | readonly Value[];

/** Returns HTML with its values escaped; lists are joined, undefined is empty. */
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

/** Escapes a text for use in an element or in a quoted attribute. */
export function escapeText(text: string): string {
  return text.replace(/[&<>"']/g, (character) => escapes[character]!);
}
