import { describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { openapi } from '../../formats/openapi.js';
import { areas } from '../operations/index.js';
import { consoleOpenapi } from './document.js';

const text = JSON.stringify(consoleOpenapi);
const document = JSON.parse(text) as {
  paths: Record<string, Record<string, { tags: string[]; summary: string }>>;
  components: Record<string, Record<string, unknown>>;
};

describe('the OpenAPI document of the console', () => {
  it('lists each operation once, in one of its areas', () => {
    const names = areas.flatMap(({ operations }) => operations.map(({ method, path }) => `${method} ${path}`));
    expect(new Set(names).size).toBe(names.length);
    expect(Object.values(document.paths).flatMap((methods) => Object.values(methods))).toHaveLength(names.length);
  });

  it('refers only to itself, so that clients can be generated from a downloaded copy', () => {
    const references = [...text.matchAll(/"\$ref":"#\/components\/(\w+)\/(\w+)"/g)];
    expect(references).toHaveLength(text.split('"$ref"').length - 1);
    for (const [, kind, name] of references) expect(document.components).toHaveProperty([kind!, name!]);
    // Schemas with the same title would be merged.
    const { schemas } = document.components;
    for (const name of ['ChatCompletionRequest', 'ChatCompletion'] as const)
      expect(Object.keys((schemas![name] as { properties: object }).properties)).toEqual(
        Object.keys((openapi.components.schemas[name] as unknown as { properties: object }).properties),
      );
  });

  it('contains valid schemas of the JSON Schema version of OpenAPI 3.1', () => {
    const ajv = new Ajv2020();
    for (const schema of Object.values(document.components['schemas']!)) expect(ajv.validateSchema(schema as object)).toBe(true);
  });

  it('describes each path parameter', () => {
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const { parameters = [] } of Object.values(methods) as {
        parameters?: { name?: string; in?: string; description?: string; $ref?: string }[];
      }[]) {
        const documented = parameters.flatMap(({ name, in: place, description, $ref }) =>
          $ref === '#/components/parameters/Account' ? ['account'] : place === 'path' && description !== undefined ? [name] : [],
        );
        expect([path, documented]).toEqual([path, [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1])]);
      }
    }
  });
});
