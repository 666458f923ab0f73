// How the public pages write numbers and the catalog's words. Pure.

/** 200000 as "200,000". */
export function count(value: number): string {
  return value.toLocaleString('en-US');
}

const names: Readonly<Record<string, string>> = {
  tools: 'tools',
  reasoning: 'reasoning',
  structured_output: 'structured output',
  prompt_cache: 'prompt caching',
  sampling: 'sampling',
  image: 'reads images',
  document: 'reads documents',
  audio: 'reads audio',
  text: 'reads text',
};

/** A feature or input modality as people call it. */
export function featureName(word: string): string {
  return Object.hasOwn(names, word) ? names[word]! : word.replaceAll('_', ' ');
}

/** Amounts as people read them: all of it, with cents at least. */
export function usd(decimal: string): string {
  const [whole = '0', decimals = ''] = decimal.split('.');
  return `$${whole}.${decimals.padEnd(2, '0')}`;
}
