// The samples in the docs name a Tollgate on this machine and a sandbox model. The served pages name the instance that serves them instead. Pure.

/** Placeholders for the address of the instance and the id of a model; these characters occur in no text. */
export const sitePlaceholder = '\uE000';
const modelPlaceholder = '\uE001';

/** The names that samples contain. */
export interface Instance {
  /** The address, without a trailing slash. */
  readonly site: string;
  /** The id of a model that answers in text. */
  readonly model: string;
}

/** Puts placeholders into a Markdown text. A sample whose output is shown keeps the sandbox's model, which gave that output. */
export function withPlaceholders(markdown: string): string {
  return markdown
    .replaceAll('http://127.0.0.1:8080', sitePlaceholder)
    .replace(/^```(\w*)\n[^]*?^```$/gm, (sample, language: string, at: number, whole: string) =>
      language === 'text' || /^\n+```text/.test(whole.slice(at + sample.length))
        ? sample
        : sample.replaceAll('sandbox/echo', modelPlaceholder),
    );
}

/** Replaces the placeholders of a text. `escape` is applied to what replaces them. */
export function filledIn(text: string, { site, model }: Instance, escape = (value: string): string => value): string {
  return text.replaceAll(sitePlaceholder, () => escape(site)).replaceAll(modelPlaceholder, () => escape(model));
}
