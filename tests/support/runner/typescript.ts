// Lets Node load our TypeScript sources by the import names of the build. Preloaded with --import; imports nothing of ours.
import { transformSync } from '@swc/core';
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';

const root = new URL('../../../', import.meta.url).href;
const packages = `${root}node_modules/`;
const { imports } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as { imports: Record<string, string> };
/** Import names and the folders behind them: `#kit/*.js` is in services/kit. */
const aliases = Object.entries(imports).map(
  ([name, source]) => [name.replace('*.js', ''), source.replace('./', root).replace('*.ts', '')] as const,
);

/** A fault to insert into a source, for mutation tests (tests/mutation). */
const mutant = JSON.parse(process.env['TOLLGATE_MUTANT'] ?? 'null') as { file: string; from: string; to: string } | null;

/** Returns the text of a source, with the mutant if it is in this file. */
function sourceOf(path: string): string {
  const source = readFileSync(path, 'utf8');
  return mutant !== null && path.endsWith(`/${mutant.file}`) ? source.replace(mutant.from, () => mutant.to) : source;
}

registerHooks({
  resolve(name, context, next) {
    if (name === '@jest/globals') return next('./globals.ts', { ...context, parentURL: import.meta.url });
    const alias = aliases.find(([prefix]) => name.startsWith(prefix));
    if (alias !== undefined) return next(`${alias[1]}${name.slice(alias[0].length).replace(/\.js$/, '.ts')}`, context);
    const fromSource = context.parentURL?.startsWith(root) && !context.parentURL.startsWith(packages);
    return next(fromSource && /^\..*\.js$/.test(name) ? name.replace(/\.js$/, '.ts') : name, context);
  },
  load(url, context, next) {
    if (!/\.ts(\?|$)/.test(url) || url.startsWith(packages)) return next(url, context);
    const filename = fileURLToPath(url);
    const { code } = transformSync(sourceOf(filename), {
      filename,
      configFile: false,
      swcrc: false,
      jsc: { parser: { syntax: 'typescript' }, target: 'es2024', experimental: { keepImportAttributes: true } },
      module: { type: 'es6' },
      sourceMaps: 'inline',
    });
    return { format: 'module', source: code, shortCircuit: true };
  },
});
