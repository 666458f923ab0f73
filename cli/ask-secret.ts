// The prompt for a secret.
import { createInterface } from 'node:readline/promises';
import { type Readable, Writable } from 'node:stream';

/** Prompts on `output` and returns the line of `input`, which is not echoed; undefined if the user ends the input with Ctrl-C or Ctrl-D. */
export async function askSecret(question: string, input: Readable, output: Pick<Writable, 'write'>): Promise<string | undefined> {
  output.write(question);
  // Readline echoes the input to its output; this output discards it.
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const prompt = createInterface({ input, output: silent, terminal: true });
  try {
    return await prompt.question('');
  } catch (error) {
    if ((error as Error).name === 'AbortError') return undefined;
    throw error;
  } finally {
    prompt.close();
    output.write('\n');
  }
}
