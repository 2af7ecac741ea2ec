import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import type { Socket } from 'node:dgram'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Home } from '../support/process/program.ts'

/** The search domain of the programs that ask the resolver. */
const DOMAIN = 'skills.test'

/** A name server on loopback that knows one name, and answers nothing about any other. */
export class Resolver implements AsyncDisposable {
  /** The name, without the search domain. */
  readonly name = 'good'
  /** Answers nothing at all. */
  isSilent = false
  readonly #socket: Socket

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('message', (query, { port, address }) => {
      const asked = questionOf(query)
      if (!this.isSilent && asked.name === `${this.name}.${DOMAIN}`) socket.send(answerTo(query, asked), port, address)
    })
  }

  /** Has programs that are started in the home ask this resolver alone, and wait long for its answers. */
  static async of(home: Home): Promise<Resolver> {
    const socket = createSocket('udp4')
    // Port 53 cannot be chosen, so the address is: all of 127/8 is this machine.
    const address = `127.${randomInt(1, 255)}.${randomInt(1, 255)}.${randomInt(1, 255)}`
    socket.bind(53, address)
    await once(socket, 'listening')
    const [servers, order] = [join(home.path, 'resolv.conf'), join(home.path, 'nsswitch.conf')]
    await writeFile(servers, `nameserver ${address}\nsearch ${DOMAIN}\noptions timeout:30 attempts:5\n`)
    await writeFile(order, 'hosts: files dns\n')
    home.under = ['unshare', '--mount', 'sh', '-c', IN_THEIR_PLACE, 'sh', servers, order]
    return new Resolver(socket)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.close()
  }
}

const IN_THEIR_PLACE = [
  'mount --bind "$1" /etc/resolv.conf',
  'mount --bind "$2" /etc/nsswitch.conf',
  'shift 2',
  'exec "$@"',
].join(' && ')

interface Question {
  readonly name: string
  /** 1 for an IPv4 address, 28 for an IPv6 address. */
  readonly type: number
  /** Where the question ends in the message. */
  readonly end: number
}

function questionOf(query: Buffer): Question {
  const labels: string[] = []
  let at = HEADER_BYTES
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.'), type: query.readUInt16BE(at + 1), end: at + 5 }
}

/** The address of this machine, for an IPv4 address; none for another kind (RFC 1035, section 4). */
function answerTo(query: Buffer, { type, end }: Question): Buffer {
  const isFound = type === 1
  const header = Buffer.alloc(HEADER_BYTES)
  header.writeUInt16BE(query.readUInt16BE(0), 0)
  header.writeUInt16BE(0x8580, 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(isFound ? 1 : 0, 6)
  // The name of the question, type A, class IN, no time to live, four bytes.
  const record = [0xc0, HEADER_BYTES, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, 1]
  return Buffer.concat([header, query.subarray(HEADER_BYTES, end), Buffer.from(isFound ? record : [])])
}

const HEADER_BYTES = 12
