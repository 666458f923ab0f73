// The page of APIs that are not offered, generated from the table that answers such requests. Pure.
import { notOffered } from '../../formats/not-offered.js';

const head = `# Not offered

The client libraries of OpenAI and Anthropic can do more than Tollgate offers. A request to one of the paths below gets a 404 with the reason
[\`not_offered\`](errors.md#not_offered), in the vendor's error format. The message says what to use instead, and \`nearest\` in the error object names it.
Such a request costs nothing. The paths also work without \`/v1\`, and include everything below them.

| Paths | What it is | What to do |
|---|---|---|
`;

const tail = `
Within the routes that are offered, some fields of the vendors are not supported. They are rejected with \`unsupported_field\`, or dropped and named in the
header \`x-tollgate-dropped-params\`; the [API reference](api.md) lists the fields that are supported.
`;

/** Returns the page as Markdown. */
export function notOfferedPage(): string {
  const rows = notOffered.map(
    ({ what, paths, instead }) => `| ${paths.map((path) => `\`/v1/${path}\``).join(', ')} | ${what} | ${instead} |`,
  );
  return `${head}${rows.join('\n')}\n${tail}`;
}
