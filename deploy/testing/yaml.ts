// Reads YAML 1.2, with the merge keys that compose files use.
import { createRequire } from 'node:module';

const yaml = createRequire(import.meta.url)('yaml') as {
  parse(text: string, options: { merge: boolean }): unknown;
  parseAllDocuments(text: string): readonly { toJS(): unknown }[];
};

/** Returns the value of the only document. Raises an Error for text that is not YAML. */
export function readYaml<T>(text: string): T {
  return yaml.parse(text, { merge: true }) as T;
}

/** Returns the values of all documents that are not empty. */
export function readYamlDocuments<T>(text: string): T[] {
  return yaml.parseAllDocuments(text).flatMap((document) => (document.toJS() as T | null) ?? []);
}
