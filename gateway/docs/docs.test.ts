import { readdirSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { reasons } from '#rules/errors/reasons.js';
import { renderings as inChatCompletions } from '../formats/errors/openai-error.js';
import { renderings as inMessages } from '../formats/messages/error.js';
import { recordColumns } from '../console/exports/record-csv.js';
import { areas } from '../console/operations/index.js';
import { consoleOpenapi } from '../console/table/document.js';
import { openapi } from '../formats/openapi.js';
import { consoleGroup } from './errors/error-advice.js';
import { renderPages } from './html-pages.js';
import { llmsFullTxt, llmsTxt } from './llms.js';
import { addressOf, renderMarkdown, withServedLinks } from './markdown.js';
import { docsFolder, readDocPages } from './pages.js';
import { filledIn, withPlaceholders } from './placeholders.js';
import { fieldsOf } from './api/schema-fields.js';
import { createSearch } from './search.js';

const pages = readDocPages();
const rendered = renderPages(pages).map((each) => ({ ...each, ...each.rendered() }));
const markdownOf = (name: string): string => pages.find((each) => each.name === name)!.markdown();

describe('Markdown', () => {
  const names = new Set(['charging']);
  const text = (markdown: string): string => renderMarkdown(markdown, names).content.text;

  it('becomes headings with unique anchors, and a list of sections', () => {
    const { title, sections, content } = renderMarkdown('# A & `b`\n\n## Same thing\n\n## Same thing\n\n### POST /v1/x_y', names);
    expect(title).toBe('A & b');
    expect(sections).toEqual([
      { anchor: 'same-thing', title: 'Same thing' },
      { anchor: 'same-thing-1', title: 'Same thing' },
    ]);
    expect(content.text).toContain('<h3 id="post-v1x_y">');
  });

  it('labels the cells of tables for narrow screens', () => {
    expect(text('| A | B <i> |\n|---|---|\n| 1 | `2` |')).toContain('<tr><td>1</td><td data-label="B &lt;i&gt;"><code>2</code></td></tr>');
  });

  it('has no header cells without a name', () => {
    expect(text('| Field | |\n|---|---|\n| 1 | 2 |')).toContain('<thead><tr><th scope="col">Field</th><td></td></tr></thead>');
  });

  it('allows line breaks after the dots of paths and in long names, and nowhere else', () => {
    expect(text('`TOLLGATE_A_SETTING_WHOSE_NAME_IS_VERY_LONG_INDEED` `PORT_1`')).toContain('LONG_<wbr>INDEED</code> <code>PORT_1</code>');
    expect(text('`tools[].function.name` `a.b c`')).toContain('<code>tools[].<wbr>function.<wbr>name</code> <code>a.b c</code>');
    expect(text('`invalid_request_error` `127.0.0.1`')).toContain('<code>invalid_<wbr>request_<wbr>error</code> <code>127.0.0.1</code>');
  });

  it('shows markup and pictures as text', () => {
    expect(text('a <script>alert(1)</script> ![view](x.png "t")\n\n<div onclick="x">y</div>\n\n```js\n</code><b>\n```')).not.toMatch(
      /<script|<div on|<img|<b>/,
    );
  });

  it('links to pages of the site and to other sites, and to nothing else', () => {
    expect(text('[c](charging.md#the-outcomes)')).toContain('<a href="charging#the-outcomes">c</a>');
    expect(text('[c](https://example.org/?a=1&b="x")')).toContain('<a href="https://example.org/?a=1&amp;b=&quot;x&quot;">');
    expect(text('[c](../openapi.json)')).toContain('<a href="../openapi.json">');
    expect(text('[bad](javascript:alert(1)) [source](../services/README.md) [none](missing.md)')).not.toContain('<a');
    expect(addressOf('#here', names)).toBe('#here');
    expect(addressOf('../charging.md#x', names, 'errors/one')).toBe('../charging#x');
    expect(addressOf('errors.md#one', new Set(['errors', 'errors/one']))).toBe('errors/one');
  });
});

describe('the pages', () => {
  it('include every file of docs/', () => {
    const files = readdirSync(docsFolder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.md'));
    expect(pages.map(({ name }) => `${name.replace(/\/index$/, '/README')}.md`)).toEqual(expect.arrayContaining(files));
  });

  it('link only to anchors and pages that exist', () => {
    const anchors = new Map(
      rendered.map(({ name, content }) => [name, new Set([...content.text.matchAll(/ id="([^"]+)"/g)].map((match) => match[1]))]),
    );
    for (const { name, content } of rendered) {
      for (const [, page, anchor] of content.text.matchAll(/<a href="([\w./-]*)#([^"]+)"/g)) {
        const target = page === '' ? name : new URL(page!, `http://docs/${name}`).pathname.slice(1);
        expect({ name, page, anchor, found: anchors.get(target)?.has(anchor!) }).toEqual({ name, page, anchor, found: true });
      }
    }
  });

  it('begin with their title', () => {
    for (const { title, markdown } of renderPages(pages)) expect(markdown().split('\n', 1)).toEqual([`# ${title}`]);
  });

  it('are all listed and contained in the files for programs', () => {
    for (const { name, title, description } of rendered.filter(({ isListed }) => isListed))
      expect(llmsTxt(rendered)).toContain(`[${title}](docs/${name}.md): ${description}`);
    const whole = llmsFullTxt(rendered);
    for (const { name } of pages) expect(whole).toContain(`<!-- docs/${name}.md -->`);
  });

  it('link as Markdown only to what the site serves', () => {
    const names = new Set(pages.map(({ name }) => name));
    const others = new Set(['/models', '/openapi.json', '/console/openapi.json', '/llms.txt', '/llms-full.txt']);
    const deadLinks = (text: string, address: string): string[] =>
      [...text.replaceAll(/```[\s\S]*?```/g, '').matchAll(/\]\(([^)\s]+)\)/g)]
        .map((match) => match[1]!)
        .filter((href) => {
          const { host, pathname } = new URL(href, `http://docs${address}`);
          return host === 'docs' && !others.has(pathname) && !names.has(/^\/docs\/(.+)\.md$/.exec(pathname)?.[1] ?? '');
        })
        .map((href) => `${address}: ${href}`);
    for (const { name, markdown } of pages) expect(deadLinks(withServedLinks(markdown(), names, name), `/docs/${name}.md`)).toEqual([]);
    expect(deadLinks(llmsFullTxt(rendered), '/llms-full.txt')).toEqual([]);
  });

  it('keep code, labels and addresses elsewhere in their Markdown', () => {
    const names = new Set(['charging', 'runbooks/index']);
    const text = '[a `b`](charging.md#c) `[x](y.md)` [z](../deploy/README.md) [r](runbooks/README.md) [w](https://example.com)';
    expect(withServedLinks(text, names, 'keys')).toBe(
      '[a `b`](charging.md#c) `[x](y.md)` z [r](runbooks/index.md) [w](https://example.com)',
    );
    expect(withServedLinks(text, names, 'keys', true)).toContain('[a `b`](docs/charging.md#c)');
  });
});

describe('the samples', () => {
  const sample = '```sh\ncurl http://127.0.0.1:8080/v1 sandbox/echo\n```\n';
  const here = { site: 'https://ai.example.com/t', model: 'acme/one' };

  it('name the instance and one of its models', () => {
    expect(filledIn(withPlaceholders(`See http://127.0.0.1:8080.\n\n${sample}`), here)).toBe(
      'See https://ai.example.com/t.\n\n```sh\ncurl https://ai.example.com/t/v1 acme/one\n```\n',
    );
  });

  it('keep the model whose output they show', () => {
    expect(filledIn(withPlaceholders(`${sample}\n\`\`\`text\nHello\n\`\`\`\n`), here)).toContain('sandbox/echo');
  });
});

describe('the search', () => {
  const search = createSearch(rendered);

  it('finds sections by whole words, the last of which may be incomplete, and marks them', async () => {
    const found = await search.find('retry idempot', () => true);
    expect(found.map(({ address }) => address)).toContainEqual(expect.stringMatching(/^idempotency/));
    expect(found[0]!.excerpt.length).toBeGreaterThan(1);
    expect((await search.find('balance_empty', () => true))[0]!.address).toBe('errors/balance_empty');
  });

  it('finds only pages that the reader may read, and nothing for a query without words', async () => {
    expect(await search.find('runbook promtool', ({ audience }) => audience !== 'operators')).not.toContainEqual(
      expect.objectContaining({ address: expect.stringMatching(/^runbooks/) }),
    );
    expect(await search.find(' "*() ', () => true)).toEqual([]);
  });
});

describe('the page of errors', () => {
  const page = markdownOf('errors');

  it('leads to a page for each reason, which says what to do and shows both formats', () => {
    const linked = [...page.matchAll(/\]\(errors\/(\w+)\.md\)/g)].map((match) => match[1]);
    expect(linked.toSorted()).toEqual(Object.keys(reasons).toSorted());
    for (const reason of linked) expect(markdownOf(`errors/${reason}`)).toMatch(/^# \w+\n\n.+\n\n\*\*What to do:\*\* .+$/m);
    expect(markdownOf('errors/balance_empty')).toContain('HTTP 402');
  });

  it('gives status, type and code of both formats', () => {
    for (const reason of Object.keys(reasons) as (keyof typeof reasons)[]) {
      if (consoleGroup.reasons.includes(reason)) continue;
      const { [reason]: one } = inChatCompletions;
      const { [reason]: other } = inMessages;
      expect(page).toContain(
        `| [\`${reason}\`](errors/${reason}.md) | ${one.status} \`${one.type}\` | ${other.status} \`${other.type}\` | ${one.code === null ? 'null' : `\`${one.code}\``} |`,
      );
    }
  });
});

describe('the page of CSV files', () => {
  it('describes every column of the records', () => {
    for (const column of recordColumns) expect(markdownOf('csv')).toMatch(new RegExp(`^\\|.*\`${column}\`.*\\| `, 'm'));
  });
});

describe('the API reference', () => {
  it('has a section for every route and every schema', () => {
    const sections = rendered.find(({ name }) => name === 'api')!.sections.map(({ title }) => title);
    const routes = Object.entries(openapi.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(sections).toEqual([...routes, ...Object.keys(openapi.components.schemas)]);
  });

  it('of the console has a section for every area, with its routes, and every schema, except those that it links in the other reference', () => {
    const { sections, markdown } = rendered.find(({ name }) => name === 'console-api')!;
    expect(sections.map(({ title }) => title)).toEqual([...areas.map(({ title }) => title), 'Objects']);
    const routes = areas.flatMap(({ operations }) => operations.map(({ method, path }) => `${method} ${path}`));
    const linked = ['ChatCompletionRequest', 'ChatCompletion'];
    const schemas = Object.keys(consoleOpenapi.components.schemas).filter((name) => !linked.includes(name));
    expect([...markdown().matchAll(/^### (.+)$/gm)].map((match) => match[1]).toSorted()).toEqual([...routes, ...schemas].toSorted());
    for (const name of linked) {
      expect(markdown()).toContain(`[${name}](api.md#${name.toLowerCase()})`);
      expect(markdown()).not.toContain(`(#${name.toLowerCase()})`);
    }
  });

  it('describes the body of a route inline, and an answer by its contents', () => {
    const section = markdownOf('console-api')
      .split('### ')
      .find((each) => each.startsWith('POST /accounts/{account}/keys\n'))!;
    expect(section).toContain(
      'For members who may change keys: owner, admin, developer, and those with the role developer in the project.',
    );
    expect(section).toContain('| `models` | array of string, null |  | At most 150 of them. |');
    expect(section).toContain('| `limit_usd` | string, null |  | A decimal USD amount');
    expect(section).toContain(
      '| 201 | This is the only answer that contains the secret. { `key`: [Key](#key), `secret`: string or null }. |',
    );
  });

  it('lists fields by path, each once, with the alternatives that have them', () => {
    const text = {
      type: 'object',
      required: ['type', 'text'],
      properties: { type: { const: 'text' }, text: { type: 'string', description: 'Words.' } },
    };
    const image = {
      type: 'object',
      required: ['type'],
      properties: { type: { const: 'image' }, size: { type: 'integer', minimum: 1, maximum: 9 } },
    };
    const schema = {
      type: 'object',
      required: ['parts'],
      properties: {
        parts: { type: 'array', maxItems: 5, items: { anyOf: [text, image] } },
        last: { anyOf: [{ type: 'boolean' }, { type: 'null' }] },
      },
    };
    expect(
      fieldsOf(schema).map(({ path, types, notes, required, within }) => [
        path,
        [...types].join(),
        [...notes].join(' '),
        required,
        within.join(),
      ]),
    ).toEqual([
      ['parts', 'array', 'At most 5 of them.', true, ''],
      ['parts[].type', '"text","image"', '', true, ''],
      ['parts[].text', 'string', 'Words.', true, 'text'],
      ['parts[].size', 'integer', '1 to 9.', false, 'image'],
      ['last', 'boolean,null', '', false, ''],
    ]);
  });
});
