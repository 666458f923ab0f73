// Builds the console to dist/console-app, with a compressed copy of every file, so that the gateway only has to send files.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import tailwindcss from '@tailwindcss/vite';
import { rolldown } from 'rolldown';
import { defineConfig, type Plugin } from 'vite';

const root = import.meta.dirname;
const outDir = join(root, '../dist/console-app');

export default defineConfig({
  root,
  // Relative, so that the console works below any path of a proxy's: index.html says by its base element where it is.
  base: './',
  plugins: [tailwindcss(), publicScript(), compressed()],
  cacheDir: join(root, '../node_modules/.cache/vite'),
  build: {
    outDir,
    emptyOutDir: true,
    target: ['chrome123', 'firefox120', 'safari17.5'],
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1000,
    rolldownOptions: {
      // What most pages share is one file, what some share is another, and small modules and the icons of several pages are two more: many small ones would
      // compress worse.
      output: {
        // Each file names the files that it imports, and hashes do not compress. Seven characters, the fewest that the bundler accepts, still tell
        // the versions of a file apart.
        entryFileNames: 'assets/[name]-[hash:7].js',
        chunkFileNames: 'assets/[name]-[hash:7].js',
        codeSplitting: {
          groups: [
            { name: 'shared', test: /console[\\/]src[\\/](ui[\\/](?!dialog)|format)/, minShareCount: 22 },
            {
              name: 'common',
              test: /console[\\/]src[\\/](ui[\\/](?!dialog|menu|tabs|toast)|format[\\/](?!calendar)|api|session|pages[\\/](billing[\\/]parts|(keys|projects)[\\/]queries|users[\\/]query-keys))|useMutation\.js/,
              minShareCount: 4,
            },
            {
              name: 'small',
              test: /suggested-model|save-file|delivery-state|form-faults|sign-in-options|enter-console|pages.*printer/,
              minShareCount: 2,
            },
            { name: 'icons', test: /lucide-react[\\/]dist[\\/]esm[\\/]icons/, minShareCount: 3 },
          ],
        },
      },
      // Libraries mark their modules for servers that render React; there is none here.
      onLog: (level, log, report) => (log.code === 'MODULE_LEVEL_DIRECTIVE' ? undefined : report(level, log)),
    },
  },
});

/** Builds the script of the public pages, one file whose name does not change, because those pages are not built. */
function publicScript(): Plugin {
  let folder = outDir;
  return {
    name: 'public-script',
    apply: 'build',
    configResolved(config) {
      folder = resolve(config.root, config.build.outDir);
    },
    async writeBundle() {
      const bundle = await rolldown({ input: join(root, 'src/site/site.ts'), resolve: { extensionAlias: { '.js': ['.ts', '.js'] } } });
      await bundle.write({ file: join(folder, 'site.js'), format: 'esm', minify: true });
    },
  };
}

function compressed(): Plugin {
  let folder = outDir;
  return {
    name: 'compressed',
    apply: 'build',
    configResolved(config) {
      folder = resolve(config.root, config.build.outDir);
    },
    closeBundle() {
      const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => /\.(js|css|svg)$/.test(name));
      for (const name of files) {
        const content = readFileSync(join(folder, name));
        writeFileSync(join(folder, `${name}.gz`), gzipSync(content, { level: 9 }));
        writeFileSync(join(folder, `${name}.br`), brotliCompressSync(content));
      }
    },
  };
}
