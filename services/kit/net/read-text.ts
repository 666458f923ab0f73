// Reads a short body, such as an error's, up to a limit.

/** Returns the text of the body, truncated at `bytesMax`. Returns what has arrived even when the body is cut off. */
export async function readText(body: AsyncIterable<Uint8Array>, bytesMax: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= bytesMax) break;
    }
  } catch {
    // The beginning of the body is still useful.
  }
  return Buffer.concat(chunks).subarray(0, bytesMax).toString('utf8');
}
