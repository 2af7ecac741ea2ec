import { expect } from 'vitest'
import type { Peer } from '../../support/clients/peer.ts'
import { resultOf } from '../peers.ts'

/** All bytes of a file of a skill, part by part, as an agent with nothing but tools gets them. */
export async function readByTool(peer: Peer, id: string, path: string): Promise<Buffer> {
  const parts: Buffer[] = []
  for (let offset: number | undefined = 0; offset !== undefined;) {
    const result: any = resultOf(
      await peer.call('tools/call', { name: 'read_skill_file', arguments: { id, path, offset } }),
    )
    expect(result.isError).toBeUndefined()
    const { content, encoding, next_offset } = JSON.parse(result.content[0].text)
    parts.push(Buffer.from(content, encoding))
    offset = next_offset
  }
  return Buffer.concat(parts)
}
