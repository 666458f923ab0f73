// Calls of a model that work unchanged: by curl, Python and TypeScript, in each format. Pure.
import type { CatalogModel } from '../formats/models-schema.js';
import { type Html, html } from './html.js';
import type { Texts } from './texts.js';

interface Sample {
  readonly label: string;
  readonly code: string;
}

/** Returns the samples, of which one is shown at a time, also without scripts. `site` is the address of the gateway. */
export function samples({ id, output_modalities: outputs }: CatalogModel, site: string, t: Texts): Html {
  const formats: [name: string, title: string, all: readonly Sample[]][] = outputs.includes('embedding')
    ? [['embeddings', t.embeddings, embeddingSamples(id, site)]]
    : [
        ['chat', t.chatFormat, chatSamples(id, site)],
        ['responses', t.responsesFormat, responsesSamples(id, site)],
        ['messages', t.messagesFormat, messagesSamples(id, site)],
      ];
  return html`${formats.map(
    ([name, title, all]) =>
      html`<h3>${title}</h3>
        ${choices(name, title, all)}`,
  )}`;
}

/** Returns a sample that can be copied. */
export function code(text: string): Html {
  return html`<div class="code">
    <pre><code>${text}</code></pre>
  </div>`;
}

/** Returns samples as tabs. `name` is unique on the page. */
export function choices(name: string, label: string, all: readonly Sample[]): Html {
  return html`<fieldset class="tabs">
    <legend class="hidden">${label}</legend>
    ${all.map((each, index) => html`<label><input type="radio" name="${name}" ${index === 0 ? html` checked` : ''} />${each.label}</label>`)}
    ${all.map((each) => html`<div>${code(each.code)}</div>`)}
  </fieldset>`;
}

/** Returns the same call in each language. */
const inEach = (curl: string, python: string, typescript: string): Sample[] => [
  { label: 'curl', code: curl },
  { label: 'Python', code: python },
  { label: 'TypeScript', code: typescript },
];

const curlOf = (address: string, body: string): string => `curl ${address} \\
  -H "Authorization: Bearer $TOLLGATE_API_KEY" -H "Content-Type: application/json" \\
  -d '${body}'`;

const openaiPython = (site: string, call: string): string => `# pip install openai
import os
from openai import OpenAI

client = OpenAI(base_url="${site}/v1", api_key=os.environ["TOLLGATE_API_KEY"])
${call}`;

const openaiTypescript = (site: string, call: string): string => `// npm install openai
import OpenAI from 'openai';

const client = new OpenAI({ baseURL: '${site}/v1', apiKey: process.env.TOLLGATE_API_KEY });
${call}`;

/** Returns calls in the chat-completions format. */
export function chatSamples(model: string, site: string): Sample[] {
  return inEach(
    curlOf(`${site}/v1/chat/completions`, `{"model": "${model}", "max_tokens": 300, "messages": [{"role": "user", "content": "Hello"}]}`),
    openaiPython(
      site,
      `completion = client.chat.completions.create(
    model="${model}",
    messages=[{"role": "user", "content": "Hello"}],
)
print(completion.choices[0].message.content)`,
    ),
    openaiTypescript(
      site,
      `const completion = await client.chat.completions.create({
  model: '${model}',
  messages: [{ role: 'user', content: 'Hello' }],
});
console.log(completion.choices[0].message.content);`,
    ),
  );
}

function messagesSamples(model: string, site: string): Sample[] {
  return inEach(
    `curl ${site}/v1/messages \\
  -H "x-api-key: $TOLLGATE_API_KEY" -H "anthropic-version: 2023-06-01" -H "Content-Type: application/json" \\
  -d '{"model": "${model}", "max_tokens": 300, "messages": [{"role": "user", "content": "Hello"}]}'`,
    `# pip install anthropic
import os
from anthropic import Anthropic

client = Anthropic(base_url="${site}", api_key=os.environ["TOLLGATE_API_KEY"])
message = client.messages.create(
    model="${model}",
    max_tokens=300,
    messages=[{"role": "user", "content": "Hello"}],
)
print(message.content[0].text)`,
    `// npm install @anthropic-ai/sdk
import Anthropic from '@anthropic-ai/sdk';

const client = new Anthropic({ baseURL: '${site}', apiKey: process.env.TOLLGATE_API_KEY });
const message = await client.messages.create({
  model: '${model}',
  max_tokens: 300,
  messages: [{ role: 'user', content: 'Hello' }],
});
console.log(message.content[0].type === 'text' ? message.content[0].text : '');`,
  );
}

function responsesSamples(model: string, site: string): Sample[] {
  return inEach(
    curlOf(`${site}/v1/responses`, `{"model": "${model}", "max_output_tokens": 300, "input": "Hello"}`),
    openaiPython(site, `response = client.responses.create(model="${model}", input="Hello")\nprint(response.output_text)`),
    openaiTypescript(
      site,
      `const response = await client.responses.create({ model: '${model}', input: 'Hello' });\nconsole.log(response.output_text);`,
    ),
  );
}

function embeddingSamples(model: string, site: string): Sample[] {
  return inEach(
    curlOf(`${site}/v1/embeddings`, `{"model": "${model}", "input": "Hello"}`),
    openaiPython(site, `result = client.embeddings.create(model="${model}", input="Hello")\nprint(len(result.data[0].embedding))`),
    openaiTypescript(
      site,
      `const result = await client.embeddings.create({ model: '${model}', input: 'Hello' });\nconsole.log(result.data[0].embedding.length);`,
    ),
  );
}
