/** All values of an iteration, in their order. */
export async function listed<Value>(values: AsyncIterable<Value>): Promise<readonly Value[]> {
  const all: Value[] = []
  for await (const value of values) all.push(value)
  return all
}
