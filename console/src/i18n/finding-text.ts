// Findings of services in the language in use.
import { findingText } from './findings.js';
import { useLanguage } from './text.js';

/** Returns a function that shows findings in the language in use. */
export function useFindingText(): (text: string) => string {
  const language = useLanguage();
  return (text) => findingText(text, language);
}
