// Prints what every benchmark prints: the circumstances of the run, and tables in Markdown.
import { cpus, loadavg } from 'node:os';

/** Prints a line. */
export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Prints a table. Cells of all columns but the first are right-aligned. */
export function printTable(head: readonly string[], rows: readonly (readonly (string | number)[])[]): void {
  const lines = [head, head.map((_, index) => (index === 0 ? '---' : '---:')), ...rows];
  print(`${lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')}\n`);
}

/** Prints when and where the run takes place. */
export function printCircumstances(extra = ''): void {
  const load = loadavg()[0]!.toFixed(1);
  print(`${new Date().toISOString()}, Node ${process.version}, ${cpus().length} cores, load average ${load} before the run${extra}\n`);
}
