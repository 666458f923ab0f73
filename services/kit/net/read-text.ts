// Reads a short body, such as an error's, up to a bound.

/** The text of the body, cut at `bytesMax`. What has arrived is returned even when the body then breaks off. */
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
    // The beginning of it still says more than nothing.
  }
  return Buffer.concat(chunks).subarray(0, bytesMax).toString('utf8');
}
