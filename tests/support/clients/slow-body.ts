// A request whose body ends long after its headers were received.

/** Begins a POST with a space as the first byte of its body. Returns a function that sends the rest of the body and returns the response. */
export async function beginPost(url: string, headers: Record<string, string>): Promise<(body: object) => Promise<Response>> {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const response = fetch(url, { method: 'POST', headers, body: readable, duplex: 'half' });
  const writer = writable.getWriter();
  await writer.write(Buffer.from(' '));
  return (body) => {
    void writer.write(Buffer.from(JSON.stringify(body))).then(() => writer.close());
    return response;
  };
}
