import { describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { openapi } from '../../formats/openapi.js';
import { consoleApi } from '../api.js';
import type { ConsoleDeps } from '../deps.js';
import { areas } from './areas.js';
import { consoleOpenapi } from './document.js';

const text = JSON.stringify(consoleOpenapi);
const document = JSON.parse(text) as {
  paths: Record<string, Record<string, { tags: string[]; summary: string }>>;
  components: Record<string, Record<string, unknown>>;
};

/** What a route is called does not matter to those who ask, nor whether a name stands for several steps of a path. */
const nameless = (path: string): string => path.replace(/[:*]\w+|\{\w+\}/g, '{}');

describe('the OpenAPI document of the console', () => {
  it('has exactly the routes that there are', () => {
    // No route is asked, so the services behind them are not needed.
    const deps = { config: {}, peers: {}, payments: undefined } as unknown as ConsoleDeps;
    const routes = consoleApi(deps, []).stack.flatMap(({ path, methods }) =>
      methods.filter((method) => method !== 'HEAD').map((method) => `${method} ${nameless(String(path))}`),
    );
    const described = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} /console/api${nameless(path)}`),
    );
    expect(routes.length).toBeGreaterThan(80);
    expect(described.toSorted()).toEqual(routes.toSorted());
  });

  it('tells of each route once, in one of its areas', () => {
    const names = areas.flatMap(({ operations }) => operations.map(({ method, path }) => `${method} ${path}`));
    expect(new Set(names).size).toBe(names.length);
    expect(Object.values(document.paths).flatMap((methods) => Object.values(methods))).toHaveLength(names.length);
  });

  it('refers only to what it and the document of calls hold', () => {
    const references = [...text.matchAll(/"\$ref":"(\.\.\/openapi\.json)?#\/components\/(\w+)\/(\w+)"/g)];
    expect(references).toHaveLength(text.split('"$ref"').length - 1);
    for (const [, other, kind, name] of references)
      expect((other === undefined ? document : openapi).components).toHaveProperty([kind!, name!]);
  });

  it('holds schemas of the JSON Schema that OpenAPI 3.1 takes', () => {
    const ajv = new Ajv2020();
    for (const schema of Object.values(document.components['schemas']!)) expect(ajv.validateSchema(schema as object)).toBe(true);
  });

  it('describes each part of a path that varies', () => {
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const { parameters = [] } of Object.values(methods) as {
        parameters?: { name?: string; in?: string; description?: string; $ref?: string }[];
      }[]) {
        const told = parameters.flatMap(({ name, in: place, description, $ref }) =>
          $ref === '#/components/parameters/Account' ? ['account'] : place === 'path' && description !== undefined ? [name] : [],
        );
        expect([path, told]).toEqual([path, [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1])]);
      }
    }
  });
});
